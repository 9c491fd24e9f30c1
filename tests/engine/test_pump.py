"""A flow that runs ahead in a thread of its own."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from penstock.engine.lifetime import WORKER
from penstock.engine.pump import Pump

from penstock.core.errors import ClosedError
from penstock.elements.chunks.chunk import Items
from penstock.plan.flow import Piece
from tests.workers import PATIENCE, await_workers


def piece(*values):
    return Piece(Items(list(values)), np.arange(len(values)), values)


def taken(pump):
    values = []
    while (each := pump.take()) is not None:
        values.extend(each.chunk.elements())
    return values


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    await_workers()


@pytest.mark.parametrize("depth", [1, 2, 100])
def test_all_pieces_come_in_order_with_their_marks_and_then_none(depth):
    pieces = [piece(1), piece(), piece(2, 3, 4), piece(5), piece()]
    pump = Pump(iter(pieces), depth)
    assert [pump.take() for _ in pieces] == pieces
    assert pump.take() is pump.take() is None


def test_it_runs_in_a_thread_of_its_own():
    threads = []

    def flow():
        threads.append(threading.current_thread())
        yield piece(1)

    assert taken(Pump(flow(), 1)) == [1]
    assert threads[0] is not threading.current_thread()
    assert threads[0].daemon
    assert threads[0].name == WORKER


class Counted:
    """A flow of pieces of some size that says how many were asked for."""

    def __init__(self, size, count=100):
        self.asked = 0
        self._changed = threading.Condition()
        self._size, self._count = size, count
        self.ended = threading.Event()

    def __iter__(self):
        try:
            for number in range(self._count):
                with self._changed:
                    self.asked = number + 1
                    self._changed.notify_all()
                yield piece(*[number] * self._size)
        finally:
            self.ended.set()

    def wait_for(self, asked):
        with self._changed:
            return self._changed.wait_for(lambda: self.asked >= asked, PATIENCE)


@pytest.mark.parametrize(("size", "depth", "ahead"), [(1, 1, 1), (1, 4, 4), (2, 4, 2), (3, 4, 1), (9, 4, 1)])
def test_it_runs_as_many_elements_ahead_as_it_may_or_one_piece(size, depth, ahead):
    flow = Counted(size)
    pump = Pump(iter(flow), depth)
    for received in range(5):
        assert flow.wait_for(received + ahead)
        with pump._changed:
            assert pump._changed.wait_for(lambda: len(pump) == ahead, PATIENCE)
        assert flow.asked == received + ahead
        assert pump.take().chunk.elements() == [received] * size
    pump.close()
    assert flow.ended.wait(PATIENCE)


def test_empty_pieces_need_no_room():
    flow = Counted(0, count=50)
    pump = Pump(iter(flow), 1)
    assert flow.ended.wait(PATIENCE)
    assert len(pump) == 50
    assert taken(pump) == []


@pytest.mark.parametrize("error", [LookupError("here"), KeyboardInterrupt(), StopAsyncIteration()])
def test_what_the_flow_raises_comes_after_what_came_before_it(error):
    def flow():
        yield piece(1)
        yield piece(2)
        raise error

    pump = Pump(flow(), 100)
    assert [pump.take().chunk.elements(), pump.take().chunk.elements()] == [[1], [2]]
    for _ in range(2):
        with pytest.raises(type(error)):
            pump.take()


def test_closed_it_drops_what_is_there_and_ends_the_flow():
    flow = Counted(1)
    pump = Pump(iter(flow), 3)
    assert flow.wait_for(3)
    pump.close()
    pump.close()
    assert flow.ended.wait(PATIENCE)
    assert flow.asked <= 3
    assert len(pump) == 0
    with pytest.raises(ClosedError, match="closed"):
        pump.take()


def test_closed_it_wakes_who_waits_though_the_flow_does_not_come_back():
    begun, wake, said = threading.Event(), threading.Event(), []

    def flow():
        begun.set()
        assert wake.wait(PATIENCE)
        yield piece(1)

    pump = Pump(flow(), 1)

    def take():
        try:
            pump.take()
        except ClosedError as error:
            said.append(str(error))

    consumer = threading.Thread(target=take)
    consumer.start()
    assert begun.wait(PATIENCE)
    pump.close()
    consumer.join(PATIENCE)
    assert not wake.is_set()
    assert said == ["this iterator was closed while it waited for its next item"]
    wake.set()
