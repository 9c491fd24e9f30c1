"""Jobs of 1 to 8 ranks, which are threads: the same global batches, and one state in the middle of an epoch."""

from __future__ import annotations

import json

import numpy as np
import pytest

import penstock as ps
from penstock.testing import audit
from tests.dataset.ranks.job import Job, rows_of

ROWS = ps.Dataset.range(140).shuffle(seed=3)


def kept():
    return ROWS.filter(lambda x: x % 3 > 0)


PIPELINES = {
    "indexed": lambda: ROWS.map(lambda x, rng: x * 1000 + int(rng.integers(1000))),
    "filter": kept,
    "filter that draws": lambda: ROWS.filter(lambda x, rng: rng.random() < 0.6),
    "flat_map": lambda: ROWS.take(48).flat_map(lambda x: np.arange(x % 5) + 10 * x),
    "interleave": lambda: ROWS.take(32).interleave(lambda x: ps.Dataset.range(10 * x, 10 * x + x % 7), cycle_length=3),
    "buffer": lambda: kept().shuffle(20, seed=1),
    "pack": lambda: ROWS.map(lambda x: np.full(x % 4 + 3, x)).pack(8).map(lambda packed: packed["tokens"]),
    "mixture": lambda: ps.Dataset.sample_from_datasets([kept(), ROWS.map(lambda x: 1000 + x)], [0.7, 0.3], seed=5),
    "choice": lambda: ps.Dataset.choose_from_datasets(
        [kept(), ROWS.map(lambda x: 1000 + x)], ps.Dataset.range(100).map(lambda x: x % 2)
    ),
    "concatenate and repeat": lambda: kept().concatenate(ROWS.take(16)).repeat(2),
    "generator": lambda: ps.Dataset.from_generator(lambda: iter(range(90))),
}  # fmt: skip


@pytest.mark.parametrize(("name", "world"), [*((name, 4) for name in PIPELINES), ("indexed", 8), ("mixture", 8)])
def test_ranks_have_the_batches_of_one_and_fewer_go_on_after_them(name, world):
    def make():
        return PIPELINES[name]().batch(3 * world).with_options(ps.Options(seed=7))

    whole = [rows_of(step) for step in Job(make, 1).steps()]
    assert len(whole) > 4
    job = Job(make, world)
    steps = job.steps(3)
    state = json.loads(json.dumps(job.states()[world // 2]))
    ledgers = [it.ledger() for it in job.iterators]
    before = [rows_of(step) for step in steps]
    assert before + [rows_of(step) for step in job.steps()] == whole
    second = Job(make, world * 3 // 4).load(state)
    middle = [rows_of(step) for step in second.steps(1)]
    ledgers += [it.ledger() for it in second.iterators]
    state = second.states()[-1]
    second.close()
    third = Job(make, world // 2).load(state)
    after = [rows_of(step) for step in third.steps()]
    ledgers += [it.ledger() for it in third.iterators]
    assert before + middle + after == whole
    assert audit(ledgers, third.datasets[0]) == "each record exactly once"
    with pytest.raises(AssertionError, match="were delivered several times"):
        audit([*ledgers, ledgers[0]], third.datasets[0])
    with pytest.raises(AssertionError, match="are missing"):
        audit(ledgers[1:], third.datasets[0])


@pytest.mark.parametrize("remainder", ["drop", "pad", "wrap", "uneven"])
@pytest.mark.parametrize("count", [0, 1, 5, 12, 13])
@pytest.mark.parametrize("stream", [False, True])
def test_fewer_rows_than_a_batch_or_than_ranks(stream, count, remainder):
    def rows(batch):
        if remainder != "pad":
            return batch.tolist()
        return np.asarray(batch[0])[np.asarray(batch[1])].tolist()

    def make():
        ds = ps.Dataset.range(count)
        return (ds.filter(lambda x: x >= 0) if stream else ds).batch(12)

    wanted = list(range(count // 12 * 12 if remainder == "drop" else count))
    if remainder == "wrap" and count:
        wanted = (wanted * 12)[: -(-count // 12) * 12]
    for world in (3, 6):
        job = Job(make, world, remainder=remainder)
        received = job.on_all(lambda rank, job=job: [rows(batch) for batch in job.iterators[rank]])
        joined = sorted(row for part in received for batch in part for row in batch)
        if stream and remainder == "wrap" and count:  # filled with the first rows of the turns
            assert sorted(set(joined)) == sorted(set(wanted))
            assert len(joined) == len(wanted)
        else:
            assert joined == sorted(wanted)
        assert remainder == "uneven" or len({len(part) for part in received}) == 1
