"""Predict clicks from TFRecord files of sparse features: `python examples/tfrecord_ctr.py`.

Writes a click log, infers its features, and shuffles all records in each epoch. The model averages the embeddings of
hashed ids, and feeds them to a logistic regression.
"""

import tempfile

import numpy as np

import penstock as ps

RECORDS, BUCKETS, SIZE = 10_000, 2_000, 8
TASTE = np.random.default_rng(7).normal(0, 1.5, 50)  # the hidden truth: the appeal of each of 50 products


def log():
    """Yield click records: the products seen lately (none to six), the price, the user, and the click."""
    rng = np.random.default_rng(0)
    for number in range(RECORDS):
        seen = rng.integers(0, 50, rng.integers(0, 7))
        price = rng.normal()
        score = (TASTE[seen].mean() if len(seen) else 0) - 0.5 * price
        clicked = rng.random() < 1 / (1 + np.exp(-2 * score))
        yield ps.records.encode_example({"seen": seen, "price": price, "user": f"u{number % 997}", "clicked": clicked})


def mean_of_rows(table, ids):
    """Return the mean of the rows of `table`, shape (buckets, size), for each list of ids: shape (k, size)."""
    lengths = ids.row_lengths()
    which = np.repeat(np.arange(len(ids)), lengths)
    total = np.zeros((len(ids), table.shape[1]))
    np.add.at(total, which, table[ids.flat_values % len(table)])
    return total / np.maximum(lengths, 1)[:, None]


with tempfile.TemporaryDirectory() as folder:
    files = ps.Dataset.from_generator(log).write_tfrecord(f"{folder}/clicks.tfrecord", max_bytes=250_000)
    print(f"{RECORDS:,} records in {len(files)} files; their features:")
    print(ps.records.infer_features(files))

    parse = ps.records.parse_example(
        {
            "seen": ps.records.RaggedFeature("int64"),
            "price": ps.records.FixedLenFeature([], "float32"),
            "clicked": ps.records.FixedLenFeature([], "int64"),
        }
    )
    ds = ps.read_tfrecord(files).shuffle(seed=0).batch(256, drop_remainder=True).map(parse)

    rng = np.random.default_rng(1)
    table, weights = rng.normal(0, 0.1, (BUCKETS, SIZE)), rng.normal(0, 0.1, SIZE + 2)
    for epoch in range(4):
        losses, right, batches = [], [], iter(ds)
        for batch in batches:
            means = mean_of_rows(table, batch["seen"])
            x = np.column_stack([means, batch["price"], np.ones(len(means))])
            chance = 1 / (1 + np.exp(-x @ weights))
            wrong = (chance - batch["clicked"]) / len(x)
            losses.append(-np.mean(np.log(np.where(batch["clicked"] == 1, chance, 1 - chance))))
            right.append(np.mean((chance > 0.5) == batch["clicked"]))

            lengths = batch["seen"].row_lengths()
            slope = np.repeat(wrong / np.maximum(lengths, 1), lengths)[:, None] * weights[:SIZE]
            weights -= 5 * x.T @ wrong
            np.subtract.at(table, batch["seen"].flat_values % BUCKETS, 50 * slope)
        print(f"epoch {epoch}: loss {np.mean(losses):.3f}, {np.mean(right):.0%} correct")
    print(batches.verdict())
