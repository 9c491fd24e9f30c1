"""Closing a run from outside: while it waits, while it looks for an element without end, and by dropping it."""

from __future__ import annotations

import itertools
import threading
import weakref
from itertools import islice

import pytest

import penstock as ps
from penstock.core.errors import ClosedError

D = ps.Dataset


def everything(x):
    return True


@pytest.mark.parametrize(
    "ds", [D.range(10_000).map(lambda x: x), D.range(10_000).filter(everything)], ids=["rows", "stream"]
)
def test_an_iterator_that_is_dropped_leaves_nothing(ds, way):
    it = ds.batch(2).with_options(way).iterator()
    next(it)
    reference = weakref.ref(it)
    del it
    assert reference() is None  # and `nothing_is_left` looks for threads


def ending_when_closed(ds, begun, state=None):
    """Return the error of an iterator that another thread closes while it waits for its next item."""
    ended = []
    it = ds.iterator()
    if state is not None:
        it.load_state_dict(state)

    def consume():
        try:
            ended.append(next(it, "exhausted"))
        except ClosedError as error:
            ended.append(str(error))

    consumer = threading.Thread(target=consume, daemon=True)
    consumer.start()
    assert begun.wait(20)
    it.close()
    consumer.join(20)
    assert it.state_dict()["row"] == (0 if state is None else state["row"])
    (error,) = ended
    return error


WHILE_WAITING = "this iterator was closed while it waited for its next item"
SLEEPING = {
    "rows": lambda sleep: D.range(9).map(sleep),
    "batches of rows": lambda sleep: D.range(9).map(sleep).batch(2),
    "one stage": lambda sleep: D.range(9).filter(sleep),
    "two stages": lambda sleep: D.range(9).filter(everything).skip(1).filter(sleep),
    "batches": lambda sleep: D.range(9).filter(sleep).batch(2),
}


@pytest.mark.parametrize("build", SLEEPING)
def test_closing_returns_at_once_while_a_task_sleeps_in_user_code(build):
    begun, wake = threading.Event(), threading.Event()

    def sleep(x):
        begun.set()
        assert wake.wait(60)
        return True

    ds = SLEEPING[build](sleep).with_options(ps.Options(workers=2))
    assert ending_when_closed(ds, begun) == WHILE_WAITING
    assert not wake.is_set()
    wake.set()


def test_an_iterator_that_waits_for_an_element_that_never_comes_can_be_closed(way):
    begun = threading.Event()

    def never(x):
        begun.set()
        return False

    ds = D.counter().filter(never).take(1).with_options(way)
    assert ending_when_closed(ds, begun).startswith("this iterator was closed")


def endless(begun):
    """All numbers from 0 on; it can be waited for the thousandth."""
    yield from range(1000)
    begun.set()
    yield from itertools.count(1000)


FAR = {
    "generator": lambda begun: D.from_generator(endless, args=[begun]),
    "batches": lambda begun: D.from_generator(endless, args=[begun]).batch(2),
    "shuffled": lambda begun: D.from_generator(endless, args=[begun]).shuffle(10),
    "repeated": lambda begun: D.from_generator(lambda: begun.set() or iter([1, 2])).repeat(),
    "flat_map": lambda begun: D.range(3).flat_map(lambda x: endless(begun)),
    "interleave": lambda begun: D.range(3).interleave(lambda x: endless(begun), cycle_length=2),
    "datasets": lambda begun: D.range(3).flat_map(lambda x: D.counter().map(lambda y: begun.set() or y)),
    "rows": lambda begun: D.counter().filter(lambda x: x < 1000 or begun.set() is None),
}


@pytest.mark.parametrize("build", FAR)
def test_an_iterator_that_skips_to_a_distant_position_can_be_closed(build, way):
    begun = threading.Event()
    ds = FAR[build](begun).with_options(way)
    state = {**ds.iterator().state_dict(), "row": 1 << 47, "offset": 1 << 47}
    assert ending_when_closed(ds, begun, state).startswith("this iterator was closed")


@pytest.mark.parametrize(
    ("build", "mark"),
    [
        (FAR["generator"], [1 << 47, None]),
        (FAR["flat_map"], [[None, 0], [1 << 47, [1 << 47, 0]]]),
        (FAR["flat_map"], [[None, 0], [1 << 47, [None, 1 << 47]]]),
        (FAR["interleave"], [[None, 2], 0, 0, [[[None, at], 1 << 47, [1 << 47, 0]] for at in (0, 1)]]),
        (FAR["interleave"], [[None, 2], 0, 0, [[[None, at], 1 << 47, [None, 1 << 47]] for at in (0, 1)]]),
    ],
)
def test_an_iterator_that_makes_elements_again_without_end_can_be_closed(build, mark):
    begun = threading.Event()
    it = build(begun).iterator()
    assert len(list(islice(it, 300))) == 300
    state = it.state_dict()
    assert state["form"]
    assert ending_when_closed(build(begun), begun, {**state, "row": 1 << 47, "mark": mark, "offset": 0}).startswith(
        "this iterator was closed"
    )
