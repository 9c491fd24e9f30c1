"""Laws of every stream, with every executor and after any restore."""

from __future__ import annotations

from copy import deepcopy
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.ops.order.repeat import Repeat
from penstock.plan.graph import post_order
from penstock.testing import functions
from penstock.testing.laws import difference, multiset, verify_determinism, verify_resume
from penstock.testing.streams import streams
from tests.draws import draws

EPOCHS = st.sampled_from([0, 0, 1, 5])
THREADS = ps.Options(executor="threads", workers=2)


def elements(ds, epoch=0):
    with ds.iterator(epoch=epoch) as it:
        return list(it)


def assert_same(made, wanted):
    assert len(made) == len(wanted)
    assert [difference(one, other) for one, other in zip(made, wanted, strict=True)] == [None] * len(made)


@given(streams(seeded=False), EPOCHS)
@settings(max_examples=draws(25))
def test_a_restore_at_every_step_continues_exactly(ds, epoch):
    verify_resume(ds, epoch=epoch, most=16)


@given(streams())
@settings(max_examples=draws(20))
def test_writes_of_a_consumer_do_not_reach_other_elements(ds):
    whole = elements(ds)
    for _ in range(2):  # what a cache keeps comes in the second pass
        received = []
        for element in ds.iterator(epoch=0):
            received.append(deepcopy(element))
            functions.grown(element)
        assert_same(received, whole)


@given(streams(seeded=False))
@settings(max_examples=draws(20))
def test_a_restore_from_threads_to_inline_and_back_continues_exactly(ds):
    inline = ps.Options(executor="inline")
    verify_resume(ds.with_options(THREADS), options=inline, most=10)
    verify_resume(ds.with_options(inline), options=THREADS, most=10)


@given(streams(seeded=False))
@settings(max_examples=draws(20))
def test_a_restore_with_other_rewrites_continues_exactly(ds):
    plain = ps.Options(executor="inline", rewrite=False)
    verify_resume(ds, options=plain, most=10)
    verify_resume(ds.with_options(plain), options=ps.Options(rewrite=True), most=10)


@pytest.mark.parametrize(("name", "examples"), [("thread_pool", 15), ("processes", 8)])
def test_a_restore_into_the_users_executor_continues_exactly(name, examples, request):
    executor = request.getfixturevalue(name)

    @given(streams(seeded=False))
    @settings(max_examples=draws(examples))
    def law(ds):
        verify_resume(ds, options=ps.Options(executor=executor), most=8)

    law()


@given(streams(), EPOCHS)
@settings(max_examples=draws(20))
def test_threads_of_any_number_equal_inline(ds, epoch):
    verify_determinism(ds, epoch=epoch)


@pytest.mark.parametrize(("name", "examples"), [("thread_pool", 20), ("scrambled", 20), ("processes", 10)])
def test_the_users_executor_equals_inline(name, examples, request):
    executor = request.getfixturevalue(name)

    @given(streams())
    @settings(max_examples=draws(examples))
    def law(ds):
        verify_determinism(ds, ways=[(f"by the {name}", ps.Options(executor=executor))])

    law()


@given(streams(), EPOCHS)
@settings(max_examples=draws(25))
def test_optimized_equals_plain(ds, epoch):
    assert_same(elements(ds, epoch), elements(ds.with_options(ps.Options(rewrite=False)), epoch))


@given(streams(), st.integers(1, 4))
@settings(max_examples=draws(20))
def test_shards_add_up_to_the_whole(ds, count):
    whole = elements(ds)
    for index in range(count):
        assert_same(elements(ds.shard(count, index)), whole[index::count])


@given(streams(), st.integers(0, 9))
@settings(max_examples=draws(20))
def test_take_and_skip_are_the_two_parts_of_the_whole(ds, count):
    assert_same(elements(ds.take(count)) + elements(ds.skip(count)), elements(ds))


@given(streams(), st.integers(1, 3))
@settings(max_examples=draws(20))
def test_repeat_yields_consecutive_epochs(ds, count):
    assert_same(elements(ds.repeat(count)), [each for epoch in range(count) for each in elements(ds, epoch)])


@given(streams())
@settings(max_examples=draws(20))
def test_an_endless_repeat_ends_only_if_an_epoch_is_empty(ds):
    epochs = [elements(ds, epoch) for epoch in range(3)]
    with ds.repeat().iterator(epoch=0) as it:
        if all(epochs):
            wanted = [each for epoch in epochs for each in epoch]
            assert_same(list(islice(it, len(wanted))), wanted)
        elif not epochs[0]:
            assert list(it) == []
    with ds.repeat().iterator(epoch=7) as it:
        assert len(list(islice(it, 3))) <= 3


@given(streams(seeded=False), st.integers(0, 2**64 - 1))
@settings(max_examples=draws(20))
def test_every_epoch_is_reproducible_from_the_seed(ds, seed):
    seeded, again = (ds.with_options(ps.Options(seed=seed)) for _ in range(2))
    for epoch in range(3):  # the passes of one dataset take the epochs one after another
        assert_same(list(seeded), elements(again, epoch))


def test_a_second_pass_draws_anew_and_the_same_seed_draws_the_same():
    def noisy(x, *, rng):
        return x, rng.random()

    whole = ps.Dataset.range(60).filter(lambda x: x % 3 > 0)
    for ds in (whole.shuffle(9), whole.map(noisy), ps.Dataset.range(60).shuffle().filter(lambda x: x % 3 > 0)):
        for each in (ds, ds.batch(5).map(lambda *parts: str(parts)), ds.repeat(2), ds.flat_map(lambda *x: [x, x])):
            seeded = each.with_options(ps.Options(seed=1))
            first, second = list(seeded), list(seeded)
            assert first != second
            assert elements(seeded, 0) == first
            assert elements(seeded, 1) == second
            assert elements(each.with_options(ps.Options(seed=2)), 0) != first


@given(streams(), st.integers(1, 9))
@settings(max_examples=draws(20))
def test_a_shuffle_loses_no_element(ds, window):
    assert multiset(elements(ds.shuffle(window))) == multiset(elements(ds))


@given(streams())
@settings(max_examples=draws(20))
def test_a_known_length_is_the_count(ds):
    count = len(elements(ds))
    assume(count or not any(map(_repeats_what_may_be_nothing, post_order(ds._plan))))
    assert ds.cardinality() in (ps.UNKNOWN, count)


def _repeats_what_may_be_nothing(node):
    """Nothing, repeated without end, is nothing, and not endless; only running tells."""
    return isinstance(node, Repeat) and node.count == -1 and node.input.length == ps.UNKNOWN


@given(streams())
@settings(max_examples=draws(20))
def test_every_stream_can_be_explained(ds):
    assert "order: a stream from " in ds.explain()
    assert repr(ds).startswith("<Dataset of ")
    with pytest.raises(ps.errors.PlanError):
        ds[0]
