"""`verify_ranks` and `audit`."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import penstock as ps
from penstock.testing import audit, verify_ranks
from tests.dataset.ranks.job import Job


def stream():
    return ps.Dataset.range(60).filter(lambda x: x % 3 > 0)


PIPELINES = {
    "indexed": lambda: ps.Dataset.range(52).shuffle(),
    "stream": lambda: stream().shuffle(8),
    "flat_map": lambda: ps.Dataset.range(17).flat_map(lambda x: np.arange(3) + x),
    "mixture": lambda: ps.Dataset.sample_from_datasets([ps.Dataset.range(20), stream()], [0.5, 0.5]),
    "random": lambda: ps.Dataset.range(60).map(lambda x, rng: rng.random(2)),
}
REMAINDERS = ["drop", "pad", "wrap", "uneven"]


# For the remainder, rows below the batch are of a known number or a stream; the kind of stream makes no difference.
@pytest.mark.parametrize(
    ("name", "remainder"),
    [*product(["indexed", "stream"], REMAINDERS), ("flat_map", "wrap"), ("mixture", "pad"), ("random", "uneven")],
)
def test_batches_of_any_pipeline_are_those_of_one_rank(name, remainder):
    verify_ranks(PIPELINES[name]().batch(6), worlds=(1, 2, 3), remainder=remainder)


def test_packed_sequences_are_those_of_one_rank():
    documents = ps.Dataset.range(60).map(lambda x: np.arange(x % 7 + 1))
    verify_ranks(documents.pack(8).batch(4), worlds=(1, 2, 4))


@pytest.mark.parametrize("world", [2, 3])
def test_what_is_no_row_of_a_batch_is_compared_whole(world):
    verify_ranks(stream().batch(12).enumerate(), worlds=(1, world))
    verify_ranks(ps.Dataset.range(24).map(lambda x: {"a": np.full(3, x), "b": np.full(2, x)}), worlds=(1,))
    with pytest.raises(AssertionError, match=f"with {world} ranks, global batch 0 has other rows"):
        verify_ranks(stream().batch(12).map(lambda batch: (batch, batch.sum())), worlds=(1, world))


def test_rows_that_depend_on_the_rank_are_found():
    ds = ps.Dataset.range(48).batch(12).map(lambda batch: batch * len(batch))
    with pytest.raises(AssertionError, match="with 2 ranks, global batch 0 has other rows than with one rank"):
        verify_ranks(ds)


def test_numbers_of_ranks_that_do_not_divide_the_batch_are_left_out():
    verify_ranks(ps.Dataset.range(40).batch(8), worlds=(1, 3, 4))
    with pytest.raises(ValueError, match="no number of ranks divides the global batch of 8 rows"):
        verify_ranks(ps.Dataset.range(40).batch(8), worlds=(3,))


def delivered(make, world, steps=None, state=None):
    job = Job(make, world)
    if state is not None:
        job.load(state)
    job.steps(steps)
    return job.iterators[0].state_dict(), [it.ledger() for it in job.iterators]


@pytest.mark.parametrize("make", [lambda: ps.Dataset.range(72).shuffle(seed=1).batch(12), lambda: stream().batch(12)])
def test_ledgers_of_all_ranks_and_restarts_add_up(make):
    whole = make().shard_by_rank(rank=0, world=1)
    state, before = delivered(make, 3, 2)
    _, after = delivered(make, 2, None, state)
    assert audit([*before, *after], whole) == "each record exactly once"
    with pytest.raises(AssertionError, match=r"epoch 0: 8 rows are missing: step 0 .*step 1"):
        audit([*before[:2], *after], whole)
    with pytest.raises(AssertionError, match=r"epoch 0: 8 rows were delivered several times"):
        audit([*before, before[0], *after], whole)


def test_records_that_are_missing_are_named():
    make = lambda: ps.Dataset.from_source(list("abcdefgh")).batch(4)  # noqa: E731
    _, (_, second) = delivered(make, 2)
    with pytest.raises(AssertionError, match=re.escape("step 0 (item 0 of list, item 1 of list), step 1 (item 4 of")):
        audit([second], make().shard_by_rank(rank=0, world=1))


def test_a_stream_whose_end_no_rank_has_seen():
    _, ledgers = delivered(lambda: stream().batch(12), 2, 1)
    with pytest.raises(AssertionError, match="no ledger has reached the end"):
        audit(ledgers, stream().batch(12).shard_by_rank(rank=0, world=1))


def test_a_part_of_an_epoch_is_missing_after_an_epoch_that_is_left():
    ds = ps.Dataset.range(8).batch(4)
    first, second = ds.iterator(epoch=0), ds.iterator(epoch=1)
    next(first)
    list(second)
    with pytest.raises(AssertionError, match="epoch 0: 1 rows are missing: step 1"):
        audit([first.ledger(), second.ledger()], ds)


def test_ledgers_of_another_pipeline():
    ds = ps.Dataset.range(8).batch(4)
    with pytest.raises(ValueError, match="of another pipeline"):
        audit([iter(ds).ledger()], ds.map(lambda x: x))
    with pytest.raises(ValueError, match="of different runs: their plan"):
        audit([iter(ds).ledger(), iter(ps.Dataset.range(9)).ledger()], ds)
    with pytest.raises(ValueError, match="no ledger to merge"):
        audit([], ds)
    with pytest.raises(ValueError, match="is not a ledger"):
        audit([{"version": 0}], ds)


@pytest.mark.parametrize("ds", [ps.Dataset.range(13), ps.Dataset.range(13).filter(lambda x: x >= 0)])
def test_ranks_without_a_row_of_the_last_batch_miss_none(ds):
    job = Job(lambda: ds.batch(4), 4, remainder="uneven")
    job.on_all(lambda rank: list(job.iterators[rank]))
    ledgers = [it.ledger() for it in job.iterators]
    for one in job.datasets:
        assert audit(ledgers, one) == "each record exactly once"
    with pytest.raises(AssertionError, match=r"epoch 0: [34] rows are missing"):
        audit(ledgers[:3], job.datasets[0])
    with pytest.raises(AssertionError, match=r"epoch 0: [34] rows are missing"):
        audit(ledgers[1:], job.datasets[0])
