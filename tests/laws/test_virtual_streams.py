"""Laws of every stream that is cut into virtual streams, for any number of shards."""

from __future__ import annotations

import json
from itertools import islice, zip_longest

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.errors import CursorError, PlanError
from penstock.testing import functions
from penstock.testing.laws import difference, multiset, verify_determinism, verify_resume
from penstock.testing.streams import STEPS, is_kept, is_lucky, several, some, streams
from tests.draws import draws

EPOCHS = st.sampled_from([0, 0, 1, 5])
CUTS = st.sampled_from([1, 2, 3, 4, 6])
MISSING = object()


def cut(ds, shards, index, count):
    """One shard of a stream that has been cut, unless it cannot be."""
    try:
        return ds.shard(shards, index, streams=count)
    except PlanError:
        assume(False)


def elements(ds, epoch=0):
    with ds.iterator(epoch=epoch) as it:
        return list(it)


def divisors(count):
    return [number for number in range(1, count + 1) if count % number == 0]


def in_turns(parts):
    """One element of each part in turn, of those that have not ended."""
    return [each for row in zip_longest(*parts, fillvalue=MISSING) for each in row if each is not MISSING]


def assert_same(made, wanted):
    assert len(made) == len(wanted)
    assert [difference(one, other) for one, other in zip(made, wanted, strict=True)] == [None] * len(made)


@given(streams(), CUTS.filter(lambda count: count > 1), EPOCHS)
@settings(max_examples=draws(40))
def test_every_number_of_shards_alternates_the_same_streams(ds, count, epoch):
    apart = [elements(cut(ds, count, number, count), epoch) for number in range(count)]
    for shards in divisors(count):
        for index in range(shards) if shards < count else ():  # as many shards as streams are those that are apart
            assert_same(elements(cut(ds, shards, index, count), epoch), in_turns(apart[index::shards]))


@given(streams(), st.sampled_from([(6, 2), (6, 3), (4, 2), (4, 4), (8, 4)]))
@settings(max_examples=draws(40))
def test_alternating_shards_have_the_order_of_the_whole_until_a_stream_ends(ds, numbers):
    count, shards = numbers
    ends = min(len(elements(cut(ds, count, number, count))) for number in range(count))
    whole = elements(cut(ds, 1, 0, count))
    parts = [elements(cut(ds, shards, index, count)) for index in range(shards)]
    assert_same(in_turns(parts)[: ends * count], whole[: ends * count])
    assert multiset(each for part in parts for each in part) == multiset(whole)


OPENING = [  # a dataset is opened for each element, of which each of these makes about four
    lambda ds: ds.flat_map(several),
    lambda ds: ds.interleave(several, cycle_length=2),
]


@st.composite
def made_one_by_one(draw):
    """Streams in which elements do not know of each other, and functions that draw."""
    ds = ps.Dataset.range(draw(st.integers(0, 24))).map(functions.as_text)
    if draw(st.booleans()):
        ds = ds.shuffle(seed=draw(st.integers(0, 9)))
    of_each = [
        lambda ds: ds.filter(is_kept),
        lambda ds: ds.filter(is_lucky),
        lambda ds: ds.flat_map(some),
        *OPENING,
        lambda ds: ds.map(draw(st.sampled_from(functions.RANDOM))),
        lambda ds: ds.shuffle(3),
        lambda ds: ds.scan(0, lambda state, x: (state, x)),
    ]
    steps = st.lists(st.sampled_from(of_each), max_size=4)
    for step in [of_each[0], *draw(steps.filter(lambda each: sum(step in OPENING for step in each) <= 2))]:
        ds = step(ds)
    return ds.with_options(ps.Options(seed=draw(st.integers(0, 9)), ignore_lint="all"))


@given(made_one_by_one(), CUTS, EPOCHS)
@settings(max_examples=draws(40))
def test_independent_elements_equal_those_of_the_whole_stream(ds, count, epoch):
    parts = [elements(ds.shard(count, number, streams=count), epoch) for number in range(count)]
    assert multiset(each for part in parts for each in part) == multiset(elements(ds, epoch))


@given(streams(seeded=False), CUTS, EPOCHS, st.data())
@settings(max_examples=draws(30))
def test_a_restore_at_every_step_continues_exactly(ds, count, epoch, data):
    shards = data.draw(st.sampled_from(divisors(count)))
    shard = cut(ds, shards, data.draw(st.integers(0, shards - 1)), count)
    step = data.draw(st.sampled_from(STEPS))
    verify_resume(step(data.draw, shard).with_options(ps.Options(ignore_lint="all")), epoch=epoch, most=12)


@given(streams(), CUTS)
@settings(max_examples=draws(20))
def test_threads_of_any_number_equal_inline(ds, count):
    verify_determinism(cut(ds, 1, 0, count))


@given(st.integers(0, 30), CUTS, st.data())
def test_shards_of_indexed_datasets_are_plain(size, count, data):
    shards = data.draw(st.sampled_from(divisors(count)))
    ds = ps.Dataset.range(size).shuffle(seed=1)
    for index in range(shards):
        assert elements(ds.shard(shards, index, streams=count)) == elements(ds.shard(shards, index))


def test_no_two_virtual_streams_draw_the_same():
    def noisy(*x, rng):
        return int(rng.integers(1 << 62))

    kept = ps.Dataset.range(64).filter(is_kept)
    for ds in (
        kept,
        kept.batch(2),
        kept.shuffle(4).batch(3),
        kept.concatenate(kept),
        kept.window(2).map(functions.as_windows),
        kept.batch(2).unbatch(),
        kept.flat_map(lambda x: np.arange(2)),
        ps.Dataset.sample_from_datasets([kept, kept]),
    ):
        seeded = ds.with_options(ps.Options(seed=1))
        for drawn in (seeded.map(noisy).shard(1, 0, streams=4), seeded.shard(1, 0, streams=4).map(noisy)):
            numbers = elements(drawn)
            assert len(numbers) > 9
            assert len(set(numbers)) == len(numbers)


@given(streams(depth=3), CUTS, st.integers(0, 9), st.integers(0, 9))
@settings(max_examples=draws(40))
def test_counting_before_the_shard_equals_counting_in_turns_until_a_stream_ends(ds, count, few, many):
    ends = min(len(elements(cut(ds, count, number, count))) for number in range(count))
    whole = cut(ds, 1, 0, count)
    known = ends * count - few  # elements that come before a stream ends, once `few` are left out
    for before, after in (
        (ds.take(many), whole.take(many)),
        (ds.skip(few), whole.skip(few)),
        (ds.skip(few).take(many), whole.skip(few).take(many)),
        (ds.enumerate(3), whole.enumerate(3)),
        (ds.skip(few).enumerate(), whole.skip(few).enumerate()),
    ):
        made, wanted = elements(before.shard(1, 0, streams=count)), elements(after)
        assert_same(made[: max(known, 0)], wanted[: max(known, 0)])


def received(iterators, steps):
    """Return the elements of each iterator over this many steps, and the states after them."""
    made = [list(islice(it, steps)) for it in iterators]
    return made, [json.loads(json.dumps(it.state_dict())) for it in iterators]


def resumed(datasets, states, epoch):
    """Return the elements of each dataset after the states of all shards."""
    rest = []
    for ds in datasets:
        with ds.iterator(epoch=epoch) as it:
            it.load_state_dict(states)
            rest.append(list(it))
    return rest


@given(streams(), CUTS, EPOCHS, st.integers(0, 9), st.data())
@settings(max_examples=draws(40))
def test_states_load_into_any_number_of_shards(ds, count, epoch, steps, data):
    before, after = data.draw(st.sampled_from(divisors(count))), data.draw(st.sampled_from(divisors(count)))
    step = data.draw(st.sampled_from([lambda ds: ds, lambda ds: ds.map(functions.as_text)]))
    shards = [step(cut(ds, before, index, count)) for index in range(before)]
    made, states = received([shard.iterator(epoch=epoch) for shard in shards], steps)
    ends = min(len(elements(cut(ds, count, number, count), epoch)) for number in range(count))
    try:
        rest = resumed([step(cut(ds, after, index, count)) for index in range(after)], states, epoch)
    except CursorError:  # where no step of theirs is, or some shards have ended and others not
        assert steps * before % after or len(set(map(len, made))) > 1
        return
    whole = elements(step(cut(ds, 1, 0, count)), epoch)
    assert multiset([*in_turns(made), *in_turns(rest)]) == multiset(whole)
    if steps * before <= ends * count:
        assert_same(in_turns(made), whole[: steps * before])
        known = ends * count - steps * before
        assert_same(in_turns(rest)[:known], whole[steps * before :][:known])
