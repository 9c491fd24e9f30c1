"""One stretch of elementwise work: its pieces, their marks and ids, and what comes before a failure."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pytest
from penstock.engine.legacy import Legacy
from penstock.engine.observer import Unobserved
from penstock.engine.settings import settings_of
from penstock.engine.spreader import Unit
from penstock.engine.stage import NOTHING, Coming, Stage, given_units, row_units
from penstock.engine.workshop import Workshop

from penstock import Dataset, Options
from penstock.core.blame import note_blames
from penstock.core.errors import ClosedError, CursorError
from penstock.engine.tuning.tuner import Tuner
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.order.expand import Expand
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece
from tests.plan.flows import SIZES, assert_reopens, assert_same, elements_of, ids_of, stream_of

WAYS = {
    "auto": Options(),
    "inline": Options(executor="inline"),
    "1 thread": Options(executor="threads", workers=1),
    "4 threads": Options(executor="threads", workers=4),
}


@contextmanager
def workshop(options):
    shop = Workshop(settings_of(Dataset.range(1).with_options(options)._plan), Legacy(), Unobserved())
    try:
        yield shop
    finally:
        shop.close()


@pytest.fixture(params=WAYS)
def shop(request):
    with workshop(WAYS[request.param]) as shop:
        yield shop


def kept(x):
    return x % 3 > 0


def over_rows(dataset, shop):
    """The stage of a dataset whose operations are all elementwise, over its first input."""
    plan = base = dataset._plan
    while not base.indexed:
        (base,) = base.inputs
    return Stage(plan, base, row_units(base), shop).open


def over_pieces(plan, source, shop):
    return Stage(plan, None, given_units(source), shop).open


ON_GIVEN = Filter(Expand(Map(Given(), lambda x: x + 1), 2), kept)
EXPANDED = [x + 1 for x in range(23) for _ in range(2) if kept(x + 1)]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 255, 256, 257])
@pytest.mark.parametrize("epoch", [0, 2])
def test_rows_of_an_epoch_come_in_order_and_keep_their_rows(size, epoch, shop):
    stage = over_rows(Dataset.range(size).filter(kept), shop)
    wanted = [x for x in range(size) if kept(x)]
    assert_same(elements_of(stage, epoch), wanted)
    assert ids_of(stage, epoch) == [epoch * size + x for x in wanted]


@pytest.mark.parametrize("epoch", [0, 2])
def test_any_mark_of_rows_leads_on(epoch, shop):
    ds = Dataset.range(40).map(lambda x: x + 1).filter(kept)
    wanted = [x + 1 for x in range(40) if kept(x + 1)]
    with workshop(WAYS["inline"]) as inline:
        assert_reopens(over_rows(ds, shop), over_rows(ds, inline), wanted, epoch)
        assert_reopens(over_rows(ds, inline), over_rows(ds, shop), wanted, epoch)


@pytest.mark.parametrize("sizes", SIZES)
def test_any_mark_of_a_stream_leads_on_however_it_is_cut(sizes, shop):
    source, other = stream_of(range(23), sizes), stream_of(range(23), (3, 0))
    stage = over_pieces(ON_GIVEN, source, shop)
    assert_same(elements_of(stage), EXPANDED)
    with workshop(WAYS["inline"]) as inline:
        assert_reopens(stage, over_pieces(ON_GIVEN, other, inline), EXPANDED)
        assert_reopens(over_pieces(ON_GIVEN, other, inline), stage, EXPANDED)


def test_every_unit_has_a_piece_though_nothing_came_of_it(shop):
    stage = over_rows(Dataset.range(50).filter(lambda x: x == 49), shop)
    pieces = list(stage(0))
    assert [len(piece) for piece in pieces if len(piece)] == [1]
    marks = [piece.after for piece in pieces]
    assert marks == sorted(set(marks))
    assert marks[-1] == 50
    for mark in marks[:-1]:
        assert elements_of(stage, 0, mark) == [49]
    assert elements_of(stage, 0, 50) == []


def test_a_mark_beyond_the_epoch_is_refused(shop):
    with pytest.raises(CursorError, match="beyond the end"):
        elements_of(over_rows(Dataset.range(5).filter(kept), shop), 0, 6)


@pytest.mark.parametrize("epoch", [2**15, 2**40, 2**100])
def test_epochs_that_rows_cannot_count_are_drawn_from_those_they_can(epoch, shop):
    stage = over_rows(Dataset.counter().filter(lambda x: x < 0 or x >= 0), shop)
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


def test_what_comes_before_a_failure_comes_first_and_can_be_gone_on_from(shop):
    elements, mark, failure = until_failure(over_rows(Dataset.range(100).filter(at_17), shop))
    assert elements == list(range(17))
    note_blames(failure)
    assert failure.__notes__ == ["in filter(at_17), at row 17", "made from the number 17"]
    assert until_failure(over_rows(Dataset.range(100).filter(at_17), shop), mark)[0] == []
    rest = elements_of(over_rows(Dataset.range(100).filter(kept), shop), 0, mark)
    assert rest == [x for x in range(17, 100) if kept(x)]


def test_the_same_on_a_stream_and_of_a_failure_in_the_stream_itself(shop):
    assert until_failure(over_pieces(Filter(Given(), at_17), stream_of(range(100), (4,)), shop))[0] == list(range(17))
    below = over_pieces(Filter(Given(), at_17), stream_of(range(100), (4,)), shop)
    assert until_failure(over_pieces(Map(Given(), lambda x: x), below, shop))[0] == list(range(17))


def test_a_failure_that_passes_is_none(shop):
    failed = []

    def once(x):
        if x == 7 and not failed:
            failed.append(x)
            raise OSError("the disk is away")
        return True

    assert elements_of(over_rows(Dataset.range(20).filter(once), shop)) == list(range(20))
    assert failed == [7]


def test_units_to_come_keep_their_failure_until_it_is_asked_for():
    def units():
        yield 1
        raise LookupError

    coming = Coming(units())
    assert [coming.next(), coming.next(), coming.next()] == [1, None, None]
    with pytest.raises(LookupError):
        coming.raise_failure()
    Coming(iter([])).raise_failure()


def test_the_tuner_says_how_many_rows_make_a_unit():
    tuner = Tuner(None)
    units = row_units(Dataset.range(100)._plan)(0, None, tuner)
    tuner.group_items = lambda: 7
    work = next(units)
    assert (len(work.given), work.mark_after(0), work.mark_after(7)) == (7, 0, 7)
    assert [len(each.given) for each in units] == [7] * 13 + [2]


def test_closed_it_stops_at_the_next_unit(shop):
    stage = over_rows(Dataset.counter().filter(kept), shop)(0)
    next(stage)
    shop.close()
    with pytest.raises(ClosedError, match="closed"):
        list(stage)


def test_a_stage_that_is_opened_again_and_again_has_its_workers_once(monkeypatch):
    with workshop(Options(executor="threads", workers=2)) as shop:
        crews = []
        hire = shop.crew
        monkeypatch.setattr(shop, "crew", lambda *arguments: crews.append(hire(*arguments)) or crews[-1])
        stage = over_rows(Dataset.range(9).filter(kept), shop)
        for epoch in range(5):
            assert elements_of(stage, epoch) == [1, 2, 4, 5, 7, 8]
        assert len(crews) == 1


def test_several_threads_make_the_units_of_one_stage():
    both = threading.Barrier(2, timeout=20)

    def meet(x):
        if x < 2:
            both.wait()  # only passes with two tasks at a time
        return True

    with workshop(Options(executor="threads", workers=2)) as shop:
        assert elements_of(over_rows(Dataset.range(8).filter(meet), shop)) == list(range(8))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 40, 257])
@pytest.mark.parametrize("epoch", [0, 2])
def test_some_of_the_rows_come_as_all_of_them_do(size, epoch, shop):
    base = Dataset.range(size)._plan
    for first in range(3):
        stage = Stage(base, base, row_units(base, first, 3), shop).open
        assert_same(elements_of(stage, epoch), list(range(first, size, 3)))
        assert ids_of(stage, epoch) == [epoch * size + x for x in range(first, size, 3)]
        assert_reopens(stage, stage, list(range(first, size, 3)), epoch)
        with pytest.raises(CursorError):
            elements_of(stage, epoch, first + 1)


def test_of_stages_that_take_turns_the_one_that_is_waited_for_gets_idle_workers():
    base = Dataset.range(99)._plan
    with workshop(WAYS["4 threads"]) as shop:  # 9 units ahead, where one stage is alone
        shop.turns = 4
        stage, window, other = Stage(base, base, row_units(base), shop), shop.window(), shop.window()
        stage._tuner.start_threads()
        units = [Unit(Piece(NOTHING, np.arange(1)), 0) for _ in range(20)]

        def room():
            return stage._has_room(window)

        for unit in units[:9]:
            assert room()  # nobody else is at work
            window.push(unit)
        assert not room()
        for unit in units[:3]:
            window.filled(unit, 0, None)
        for _ in range(3):
            window.pop()
        assert room()
        for unit in units[9:13]:
            other.push(unit)
        assert not room()  # the workers have enough to do
        window.filled(units[3], 0, None)
        other.filled(units[9], 0, None)
        other.filled(units[10], 0, None)
        assert not room()  # nobody waits for it
        window.pop()
        assert room()


def test_stages_that_take_turns_share_the_budget():
    base = Dataset.range(99)._plan
    with workshop(Options(executor="threads", workers=4, memory_budget=1000)) as shop:
        shop.turns = 4
        stage, window = Stage(base, base, row_units(base), shop), shop.window()
        window.push(Unit(Piece(NOTHING, np.arange(1)), 249))
        assert stage._has_room(window)
        window.push(Unit(Piece(NOTHING, np.arange(1)), 1))
        assert not stage._has_room(window)
