"""Batches of every pipeline of batches are in the memory that the caller gives."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Options, read_tfrecord, records
from penstock.testing.laws import same

ROWS = Dataset.from_tensor_slices({"x": np.arange(1040.0).reshape(26, 40), "y": np.arange(26)})
PARSE = records.parse_example(
    {"x": records.FixedLenFeature([40], "float32"), "y": records.FixedLenFeature([], "int64")}
)
RECORDS = [records.encode_example({"x": np.arange(40 * i, 40 * i + 40, dtype=np.float32), "y": i}) for i in range(26)]
PIPELINES = {
    "batch": lambda path: ROWS.batch(4),
    "padded_batch": lambda path: ROWS.padded_batch(4, {"x": [50], "y": []}),
    "padded with flags": lambda path: ROWS.batch(4, remainder="pad"),
    "padded_batch with flags": lambda path: ROWS.padded_batch(4, remainder="pad"),
    "ragged_batch of one shape": lambda path: ROWS.ragged_batch(4),
    "rebatch": lambda path: ROWS.batch(2).rebatch(4),
    "a function": lambda path: ROWS.batch(4).map(lambda e: {"x": np.sort(e["x"]), "y": e["y"]}),
    "a traced function": lambda path: ROWS.batch(4).map(lambda e: {"x": e["x"] * 2, "y": e["y"]}),
    "columns": lambda path: ROWS.batch(4, drop_remainder=True).map(
        lambda e: {"x": e["x"] * 2, "y": e["y"]}, vectorized=True
    ),
    "one leaf": lambda path: ROWS.batch(4).map(lambda x: x[:, ::-1], on="x"),
    "one array twice": lambda path: ROWS.batch(4).map(lambda e: {"x": e["x"], "y": e["y"], "z": e["x"]}),
    "records in files": lambda path: read_tfrecord(path).shuffle(seed=0).batch(4).map(PARSE),
    "records in memory": lambda path: Dataset.from_source(RECORDS).batch(4).map(PARSE),
    "a stream": lambda path: ROWS.filter(lambda e: True).batch(4),
    "a padded stream": lambda path: ROWS.filter(lambda e: True).padded_batch(4, {"x": [50], "y": []}, remainder="pad"),
    "a stream of batches": lambda path: ROWS.batch(3).filter(lambda e: True).rebatch(4),
    "a function in a stream": lambda path: ROWS.filter(lambda e: True).batch(4).map(lambda e: {**e, "x": -e["x"]}),
    "a bucket": lambda path: ROWS.bucket_by_sequence_length(lambda e: len(e["x"]), [99], [4, 4]),
}


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
def test_all_leaves_of_a_batch_are_in_one_block_of_the_caller_s(tmp_path, make, executor):
    Dataset.from_source(RECORDS).write_tfrecord(tmp_path / "rows.tfrecord")
    given = []

    def reserve(nbytes):
        given.append(np.empty(nbytes, np.uint8))
        return given[-1]

    # a budget for few batches: those that are begun before one of them has shown their size are elsewhere
    options = Options(executor=executor, workers=1 if executor == "threads" else None, memory_budget=4000)
    ds = make(str(tmp_path / "rows.tfrecord")).repeat(5).with_options(options)
    found, wanted = list(ds.iterator(epoch=0, allocate=reserve)), list(ds.iterator(epoch=0))
    assert all(map(same, found, wanted))
    assert len(found) == len(wanted)
    homes = [{id(leaf.base) for leaf in batch.values()} for batch in found]
    inside = [len(home) == 1 and home <= set(map(id, given)) for home in homes]
    assert sum(inside) >= len(found) - 8
    assert all(inside[-4:])
    assert len({id(block) for block in given}) == len(given)


def test_batches_with_ragged_leaves_are_left_where_they_are():
    ds = Dataset.from_tensor_slices({"x": np.arange(40.0).reshape(20, 2)}).map(lambda e: {**e, "r": e["x"][:1]})
    ds = ds.ragged_batch(2, row_shapes={"x": [2], "r": [None]}).with_options(Options(executor="inline"))
    found = list(ds.iterator(allocate=lambda nbytes: np.empty(nbytes, np.uint8)))
    assert all(map(same, found, ds.iterator(epoch=0)))
