"""What holds for every dataset that is divided among ranks, for any number of them."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import functions
from penstock.testing.plans import datasets
from penstock.testing.streams import is_kept, number_of, several, some, streams
from tests.dataset.ranks.job import Job, rows_of
from tests.draws import draws

WORLDS = st.sampled_from([1, 2, 3])
BATCHES = st.sampled_from([6, 12])
FILLED = st.sampled_from(["drop", "wrap"])


def as_numbers(ds):
    """The elements as whole numbers, which any batch can hold; different elements are most likely different."""
    return ds.map(number_of)


@st.composite
def indexed(draw):
    ds = draw(datasets(depth=3))
    assume(ds.cardinality() != ps.UNKNOWN)
    return ds


@st.composite
def long_streams(draw):
    """Streams of several batches whose virtual streams end at different steps."""
    ds = ps.Dataset.range(draw(st.integers(30, 90)))
    if draw(st.booleans()):
        ds = ds.shuffle(seed=draw(st.integers(0, 9)))
    steps = [
        lambda ds: ds.filter(is_kept),
        lambda ds: ds.flat_map(some),
        lambda ds: ds.flat_map(several),
        lambda ds: ds.map(draw(st.sampled_from(functions.RANDOM))),
        lambda ds: ds.shuffle(3),
        lambda ds: ds.batch(2).map(number_of),
        lambda ds: ds.repeat(2),
        lambda ds: ds.take(50),
        lambda ds: ps.Dataset.sample_from_datasets(
            [ds.map(number_of), ps.Dataset.range(40).filter(is_kept).map(number_of)], seed=3
        ),
    ]
    for step in [steps[0], *draw(st.lists(st.sampled_from(steps), max_size=3))]:
        ds = step(ds.map(number_of))
    return ds.with_options(ps.Options(seed=draw(st.integers(0, 9)), ignore_lint="all"))


def made(ds, size, world, **arguments):
    """The rows of each step of an epoch."""
    return [rows_of(step) for step in Job(lambda: as_numbers(ds).batch(size), world, **arguments).steps()]


@given(indexed() | streams() | long_streams(), BATCHES, WORLDS, FILLED)
@settings(max_examples=draws(20))
def test_the_global_batches_are_the_same_for_any_number_of_ranks(ds, size, world, remainder):
    assert made(ds, size, world, remainder=remainder) == made(ds, size, 1, remainder=remainder)


@given(long_streams(), BATCHES, WORLDS)
@settings(max_examples=draws(20))
def test_ranks_that_cannot_ask_each_other_have_the_same_global_batches(ds, size, world):
    assert made(ds, size, world, alone=True) == made(ds, size, 1)


@given(indexed() | long_streams(), BATCHES, WORLDS)
@settings(max_examples=draws(20))
def test_each_row_comes_to_exactly_one_rank(ds, size, world):
    def rows(batch):
        flags = np.asarray(batch[1])
        return np.asarray(batch[0])[flags].tolist()

    steps = Job(lambda: as_numbers(ds).batch(size), world, remainder="pad").steps()
    assert all(len(batch[0]) == size // world for step in steps for batch in step)
    padded = sorted(row for step in steps for batch in step for row in rows(batch))
    (whole,) = [list(each) for each in Job(lambda: as_numbers(ds).batch(size), 1, remainder="uneven").iterators]
    assert padded == sorted(row for batch in whole for row in batch.tolist())
    job = Job(lambda: as_numbers(ds).batch(size), world, remainder="uneven")
    received = job.on_all(lambda rank: [row for batch in job.iterators[rank] for row in batch.tolist()])
    assert sorted(row for each in received for row in each) == padded


@given(indexed(), BATCHES, WORLDS)
@settings(max_examples=draws(20))
def test_without_ranks_the_rows_are_the_same_in_the_same_order(ds, size, world):
    plain = [batch.tolist() for batch in as_numbers(ds).batch(size)]
    ranks = [as_numbers(ds).batch(size).shard_by_rank(rank=r, world=world, remainder="uneven") for r in range(world)]
    parts = [list(each.iterator(epoch=0)) for each in ranks]
    joined = [
        [row for part in parts for batch in part[step : step + 1] for row in batch.tolist()]
        for step in range(len(plain))
    ]
    assert joined == plain


@given(indexed() | streams() | long_streams(), BATCHES, WORLDS, WORLDS, FILLED, st.integers(0, 2), st.data())
@settings(max_examples=draws(20))
def test_a_state_of_any_rank_continues_exactly_with_any_number_of_ranks(
    ds, size, before, after, remainder, epoch, data
):
    def make():
        each = as_numbers(ds).batch(size)
        each.set_epoch(epoch)
        return each

    whole = Job(make, 1, remainder=remainder)
    for each in whole.datasets:
        each.set_epoch(epoch)
    steps = [rows_of(step) for step in whole.steps()]
    job = Job(make, before, remainder=remainder)
    for each in job.datasets:
        each.set_epoch(epoch)
    stop = data.draw(st.integers(0, len(steps)))
    assert [rows_of(step) for step in job.steps(stop)] == steps[:stop]
    states = job.states()
    job.close()
    assert {(each["epoch"], each["row"], each["seed"]) for each in states} == {(epoch, stop, states[0]["seed"])}
    state = json.loads(json.dumps(data.draw(st.sampled_from([states[0], states[-1], states]))))
    again = Job(make, after, remainder=remainder).load(state)
    assert [rows_of(step) for step in again.steps()] == steps[stop:]
