"""An element followed through a plan: what each stage made for it, and what it drew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.dryrun.row_trace import input_of, trace_input, trace_row, trace_stream
from penstock.testing.laws import difference
from penstock.testing.plans import datasets
from penstock.testing.streams import streams
from tests.draws import draws

D = ps.Dataset


def noisy(x, *, rng):
    return x + rng.integers(100)


@given(datasets(), st.sampled_from([0, 0, 2]), st.data())
@settings(max_examples=draws(80))
def test_the_last_stage_of_a_row_makes_the_element(ds, epoch, data):
    if not len(ds):
        return
    row = data.draw(st.integers(0, len(ds) - 1))
    plan = ds._bound()
    trace = trace_row(plan, epoch * plan.stride + row)
    assert difference(trace.elements[0], ds[epoch, row]) is None
    assert difference(trace.stages[-1].elements[0], ds[epoch, row]) is None
    assert all(stage.reached for stage in trace.stages[-1:])


@given(streams(), st.data())
@settings(max_examples=draws(80))
def test_the_last_stage_of_a_stream_makes_the_element(ds, data):
    wanted = list(ds.iterator(epoch=0))
    if not wanted:
        return
    number = data.draw(st.integers(0, len(wanted) - 1))
    trace = trace_stream(ds._bound(), number, 0)
    assert difference(trace.elements[0], wanted[number]) is None


def test_an_element_made_for_another_is_forgotten():
    ds = D.range(9).filter(lambda x: x % 3 == 1).map(lambda x: -x)
    source, kept, last = trace_stream(ds._bound(), 1, 0).stages
    assert (source.elements, kept.elements, last.elements) == ([2, 3, 4], [4], [-4])
    assert kept.left_out == [2, 3]


def test_a_row_of_the_input_is_followed_alone():
    ds = D.range(9).shuffle(seed=1).filter(lambda x: x % 2 == 0).flat_map(lambda x: [x, x]).batch(2)
    plan = ds._bound()
    for row in range(9):
        trace = trace_input(plan, row, 0)
        number = int(D.range(9).shuffle(seed=1)[row])
        assert trace.elements == ([number] * 2 if number % 2 == 0 else [])
        assert [stage.followed for stage in trace.stages if not stage.node.internal][-1] is False


def test_draws_of_a_row_alone_are_those_of_the_run():
    ds = D.range(9).filter(lambda x: x > 3).map(noisy).with_options(ps.Options(seed=4))
    for number, wanted in enumerate(ds):
        trace = trace_input(ds._bound(), number + 4, 0)
        assert trace.elements == [wanted]
        (draws,) = trace.stages[2].draws
        assert draws.calls == [f"integers(100) = {wanted - number - 4}"]


@pytest.mark.parametrize(
    "ds", [D.from_generator(lambda: iter([1])), D.zip(D.range(3).filter(bool), D.range(3).filter(bool))]
)
def test_a_stream_without_one_input_of_rows_has_none_to_follow(ds):
    with pytest.raises(ps.errors.PlanError, match="pass row="):
        input_of(ds._bound())


def test_caches_keep_nothing_and_draw_as_always():
    for ds in (
        D.range(5).map(noisy).cache().map(noisy).repeat(2),
        D.range(9).filter(lambda x: x > 3).map(noisy).cache().map(noisy).repeat(2),
    ):
        seeded = ds.with_options(ps.Options(seed=3, ignore_lint="PS301"))
        followed = [trace.elements[0] for trace in traces(seeded, 10)]
        assert followed == list(seeded.iterator(epoch=0))


def traces(ds, count):
    plan = ds._bound()
    return [trace_row(plan, row) if plan.indexed else trace_stream(plan, row, 0) for row in range(count)]


def test_an_element_is_kept_as_it_was_before_a_later_operation_wrote_into_it():
    def grown(element):
        element["list"].append(9)
        return element

    ds = D.range(3).map(lambda x: {"list": [x]}).map(grown)
    _, made, last = trace_row(ds._bound(), 1).stages
    assert (made.elements, last.elements) == ([{"list": [1]}], [{"list": [1, 9]}])


def test_an_error_belongs_to_its_stage_and_others_are_raised():
    trace = trace_row(D.range(3).map(lambda x: 1 // x).map(abs)._bound(), 0)
    assert [type(stage.error) for stage in trace.stages] == [type(None), ZeroDivisionError, type(None)]
    assert isinstance(trace.error, ZeroDivisionError)
    with pytest.raises(IndexError, match="ended after 3 elements"):
        trace_stream(D.range(9).filter(lambda x: x > 5)._bound(), 3, 0)


def test_failures_that_are_left_out_are_told_where_they_happened():
    tolerant = D.range(4).map(lambda x: 6 // x, on_error="skip")
    _, failing = trace_input(tolerant._bound(), 0, 0).stages
    assert [failure.error for failure in failing.failures] == ["ZeroDivisionError"]
    ignored = D.range(4).map(lambda x: 6 // x).ignore_errors()
    _, failing, above = trace_input(ignored._bound(), 0, 0).stages
    assert [type(error) for error in failing.caught] == [ZeroDivisionError]
    assert above.elements == []


def test_a_shard_of_virtual_streams_is_one_stage():
    ds = D.range(20).filter(lambda x: x % 3 > 0).cache().shard(2, 1, streams=4)
    (stage,) = trace_stream(ds._bound(), 2, 0).stages
    assert stage.operation == "shard(2, 1, streams=4)"
    assert np.array_equal(stage.elements[-1:], list(ds)[2:3])


def numbers():
    yield from range(40)


def source_elements(ds, row):
    """Return the elements of the first operation that `explain` tells for a row, and those of the last."""
    operations = ds.explain(row=row).operations
    return [*map(int, operations[0].elements)], operations[-1].elements[0]


@pytest.mark.parametrize(
    "source", [D.from_generator(numbers), D.range(40), D.range(80).skip(3).filter(lambda x: x < 43)]
)
@pytest.mark.parametrize(
    "buffer",
    [
        lambda ds: ds.shuffle(5, seed=1),
        lambda ds: ds.shuffle(seed=1, buffer_bytes=40),
        lambda ds: ds.shuffle(7, seed=1).map(lambda x: x).shuffle(3, seed=2),
    ],
)
def test_elements_behind_a_buffer_are_those_that_came_out_of_it(source, buffer):
    ds = buffer(source.filter(lambda x: x % 3 != 0).map(lambda x: x * 1)).map(lambda x: x)
    wanted = [int(each) for each in ds.iterator(epoch=0)]
    for row in range(len(wanted)):
        assert source_elements(ds, row) == ([wanted[row]], wanted[row])
    batches = ds.batch(4)
    for row, batch in enumerate(batches.iterator(epoch=0)):
        told, last = source_elements(batches, row)
        assert told == list(batch) == list(last)


def test_draws_behind_a_buffer_are_those_of_the_element():
    ds = D.from_generator(numbers).map(noisy).shuffle(5, seed=1).with_options(ps.Options(seed=4))
    for row, wanted in enumerate(ds.iterator(epoch=0)):
        source, mapped, _ = ds.explain(row=row).operations
        (draws,) = mapped.draws
        assert draws.endswith(f"integers(100) = {wanted - source.elements[0]}")


@pytest.mark.parametrize(
    "above",
    [
        lambda ds: ds.group_by_window(lambda x: x % 3, lambda key, window: window.batch(2), window_size=2),
        lambda ds: ds.interleave(D.range, cycle_length=3),
        lambda ds: ds.flat_map(D.range).batch(2),
        lambda ds: ds.batch(3).shuffle(2, seed=1),
    ],
)
def test_elements_that_cannot_be_told_are_not_shown(above):
    explained = above(D.from_generator(numbers).map(lambda x: x)).explain(row=2)
    source, mapped, *_, last = explained.operations
    assert (source.elements, mapped.elements, source.followed) == ((), (), False)
    assert "used for this one is not known" in source.why_not
    assert len(last.elements) == 1
    assert "not followed: which of its elements" in str(explained)


def test_an_error_behind_a_buffer_is_told_with_the_element_that_failed():
    def failing(x):
        return 6 // (x - 3)

    ds = D.from_generator(numbers).map(lambda x: x).map(failing).map(abs).shuffle(5, seed=1)
    source, mapped, failed, last, buffer = ds.explain(row=0).operations
    assert (source.elements, mapped.elements) == ((3,), (3,))
    assert isinstance(failed.error, ZeroDivisionError)
    assert (last.reached, last.elements, buffer.reached) == (False, (), False)
