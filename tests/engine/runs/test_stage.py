"""One stage: its pieces, their marks and ids, its workers, and the items before a failure."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from penstock import Dataset, Options
from penstock.core.blame import note_blames
from penstock.core.errors import ClosedError, CursorError
from penstock.engine.runs.feeds import PieceFeed, RowFeed
from penstock.engine.runs.stage import Stage, Stretch
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.order.expand import Expand
from penstock.ops.read.given import Given
from tests.engine.runs.sessions import INLINE, THREADS, scope_with
from tests.plan.flows import SIZES, assert_reopens, assert_same, elements_of, ids_of, stream_of
from tests.workers import PATIENCE


@pytest.fixture
def scope(way):
    with scope_with(way) as scope:
        yield scope


def kept(x):
    return x % 3 > 0


def over_rows(dataset, scope):
    """Open the stage of a dataset whose operations are all elementwise, over its first input."""
    plan = base = dataset._plan
    while not base.indexed:
        (base,) = base.inputs
    return Stage(Stretch(plan, base), partial(RowFeed, base), scope).open


def over_pieces(plan, source, scope, *, live=False):
    return Stage(Stretch(plan, None, live=live), partial(PieceFeed, source), scope).open


ON_GIVEN = Filter(Expand(Map(Given(), lambda x: x + 1), 2), kept)
EXPANDED = [x + 1 for x in range(23) for _ in range(2) if kept(x + 1)]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 255, 256, 257])
@pytest.mark.parametrize("epoch", [0, 2])
def test_rows_of_an_epoch_come_in_order_and_keep_their_rows(size, epoch, scope):
    stage = over_rows(Dataset.range(size).filter(kept), scope)
    wanted = [x for x in range(size) if kept(x)]
    assert_same(elements_of(stage, epoch), wanted)
    assert ids_of(stage, epoch) == [epoch * size + x for x in wanted]


@pytest.mark.parametrize("epoch", [0, 2])
def test_any_mark_of_rows_resumes_the_rest(epoch, scope):
    ds = Dataset.range(40).map(lambda x: x + 1).filter(kept)
    wanted = [x + 1 for x in range(40) if kept(x + 1)]
    with scope_with(INLINE) as inline:
        assert_reopens(over_rows(ds, scope), over_rows(ds, inline), wanted, epoch)
        assert_reopens(over_rows(ds, inline), over_rows(ds, scope), wanted, epoch)


@pytest.mark.parametrize("sizes", SIZES)
def test_any_mark_of_a_stream_resumes_the_rest_for_any_pieces(sizes, scope):
    source, other = stream_of(range(23), sizes), stream_of(range(23), (3, 0))
    stage = over_pieces(ON_GIVEN, source, scope)
    assert_same(elements_of(stage), EXPANDED)
    with scope_with(INLINE) as inline:
        assert_reopens(stage, over_pieces(ON_GIVEN, other, inline), EXPANDED)
        assert_reopens(over_pieces(ON_GIVEN, other, inline), stage, EXPANDED)


def test_every_task_has_a_piece_even_one_without_elements(scope):
    stage = over_rows(Dataset.range(50).filter(lambda x: x == 49), scope)
    pieces = list(stage(0))
    assert [len(piece) for piece in pieces if len(piece)] == [1]
    marks = [piece.after for piece in pieces]
    assert marks == sorted(set(marks))
    assert marks[-1] == 50
    for mark in marks[:-1]:
        assert elements_of(stage, 0, mark) == [49]
    assert elements_of(stage, 0, 50) == []


def test_a_mark_beyond_the_epoch_is_refused(scope):
    with pytest.raises(CursorError, match="beyond the end"):
        elements_of(over_rows(Dataset.range(5).filter(kept), scope), 0, 6)


@pytest.mark.parametrize("epoch", [2**15, 2**40, 2**100])
def test_epochs_beyond_int64_are_drawn_from_countable_ones(epoch, scope):
    stage = over_rows(Dataset.counter().filter(lambda x: x < 0 or x >= 0), scope)
    first = next(stage(epoch)).ids[0]
    assert 0 <= first < 2**63
    assert first % 2**48 == 0
    assert next(stage(epoch)).ids[0] == first
    assert next(stage(epoch + 1)).ids[0] != first


def at_17(x):
    if x == 17:
        raise LookupError("not 17")
    return True


def until_failure(stage, mark=None):
    """The elements up to a failure, the mark after them, and the failure."""
    elements = []
    try:
        for piece in stage(0, mark):
            elements.extend(piece.chunk.elements())
            mark = piece.after
    except LookupError as error:
        return elements, mark, error
    pytest.fail("nothing failed")


def test_the_elements_before_a_failure_come_first_and_their_mark_resumes(scope):
    elements, mark, failure = until_failure(over_rows(Dataset.range(100).filter(at_17), scope))
    assert elements == list(range(17))
    note_blames(failure)
    assert failure.__notes__ == ["in filter(at_17), at row 17", "made from the number 17"]
    assert until_failure(over_rows(Dataset.range(100).filter(at_17), scope), mark)[0] == []
    rest = elements_of(over_rows(Dataset.range(100).filter(kept), scope), 0, mark)
    assert rest == [x for x in range(17, 100) if kept(x)]


def test_the_elements_before_a_failure_of_a_stream_come_first(scope):
    assert until_failure(over_pieces(Filter(Given(), at_17), stream_of(range(100), (4,)), scope))[0] == list(range(17))
    below = over_pieces(Filter(Given(), at_17), stream_of(range(100), (4,)), scope)
    assert until_failure(over_pieces(Map(Given(), lambda x: x), below, scope))[0] == list(range(17))


def test_a_failure_that_does_not_recur_is_not_raised(scope):
    failed = []

    def once(x):
        if x == 7 and not failed:
            failed.append(x)
            raise OSError("the disk is away")
        return True

    assert elements_of(over_rows(Dataset.range(20).filter(once), scope)) == list(range(20))
    assert failed == [7]


def test_a_stage_of_a_closed_session_stops_at_the_next_task(scope):
    stage = over_rows(Dataset.counter().filter(kept), scope)(0)
    next(stage)
    scope.session.close()
    with pytest.raises(ClosedError, match="closed"):
        list(stage)


def test_a_stage_opened_repeatedly_uses_the_same_threads():
    with scope_with(THREADS) as scope:
        stage, threads = over_rows(Dataset.range(9).filter(kept), scope), set()
        for epoch in range(5):
            assert elements_of(stage, epoch) == [1, 2, 4, 5, 7, 8]
            threads |= set(scope.session.threads._threads)
        assert len(threads) == 4


def test_several_threads_make_the_tasks_of_one_stage():
    both = threading.Barrier(2, timeout=PATIENCE)

    def meet(x):
        if x < 2:
            both.wait()  # only passes with two tasks at a time
        return True

    with scope_with(Options(executor="threads", workers=2)) as scope:
        assert elements_of(over_rows(Dataset.range(8).filter(meet), scope)) == list(range(8))


@pytest.mark.parametrize("options", [INLINE, THREADS], ids=["inline", "threads"])
def test_an_element_of_a_live_stream_does_not_wait_for_the_next(options):
    received = threading.Semaphore(0)

    def source(epoch, mark=None):
        for number in range(5):
            if number and not received.acquire(timeout=PATIENCE):
                raise TimeoutError(f"element {number - 1} was made and has not arrived")
            yield from stream_of([number], (1,))(epoch)

    with scope_with(options) as scope:
        arrived = []
        for piece in over_pieces(Map(Given(), lambda x: x + 1), source, scope, live=True)(0):
            arrived.extend(piece.chunk.elements())
            received.release()
        assert arrived == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 40, 257])
@pytest.mark.parametrize("epoch", [0, 2])
def test_every_third_row_of_a_stage_is_correct(size, epoch, scope):
    base = Dataset.range(size)._plan
    for first in range(3):
        stage = Stage(Stretch(base, base), partial(RowFeed, base, first=first, step=3), scope).open
        assert_same(elements_of(stage, epoch), list(range(first, size, 3)))
        assert ids_of(stage, epoch) == [epoch * size + x for x in range(first, size, 3)]
        assert_reopens(stage, stage, list(range(first, size, 3)), epoch)
        with pytest.raises(CursorError):
            elements_of(stage, epoch, first + 1)
