"""An iterator that runs ahead in a separate thread."""

from __future__ import annotations

import os
import threading

import pytest

from penstock.core.errors import ClosedError
from penstock.engine.workers.lifetime import WORKER
from penstock.engine.workers.producer import Producer
from tests.workers import PATIENCE, await_workers


def room_for(count):
    """Return a condition that holds while fewer than `count` items wait."""
    return lambda waiting: len(waiting) < count


@pytest.fixture(autouse=True)
def no_thread_is_left():
    yield
    await_workers()


@pytest.mark.parametrize("ahead", [1, 2, 100])
def test_all_items_come_in_order_and_then_the_end(ahead):
    producer = Producer(iter(range(9)), room_for(ahead))
    assert list(producer) == list(range(9))
    assert next(producer, None) is next(producer, None) is None


def test_items_are_made_in_a_daemon_thread_that_is_a_worker():
    threads = []

    def items():
        threads.append(threading.current_thread())
        yield 1

    assert list(Producer(items(), room_for(1))) == [1]
    assert threads[0] is not threading.current_thread()
    assert threads[0].daemon
    assert threads[0].name == WORKER


class Counted:
    """Items that count the requests."""

    def __init__(self, count=100):
        self.asked = 0
        self.ended = threading.Event()
        self._changed = threading.Condition()
        self._count = count

    def __iter__(self):
        try:
            for number in range(self._count):
                with self._changed:
                    self.asked = number + 1
                    self._changed.notify_all()
                yield number
        finally:
            self.ended.set()

    def wait_for(self, asked):
        with self._changed:
            return self._changed.wait_for(lambda: self.asked >= asked, PATIENCE)


@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_items_are_made_ahead_while_there_is_room(ahead):
    items = Counted()
    producer = Producer(iter(items), room_for(ahead))
    for received in range(5):
        assert items.wait_for(received + ahead)
        with producer._changed:
            assert producer._changed.wait_for(lambda: len(producer) == ahead, PATIENCE)
        assert items.asked == received + ahead
        assert next(producer) == received
    producer.close()
    assert items.ended.wait(PATIENCE)


def test_the_room_function_receives_the_waiting_items():
    items = Counted(count=50)
    producer = Producer(iter(items), lambda waiting: sum(waiting) < 6)
    assert items.wait_for(4)
    with producer._changed:
        assert producer._changed.wait_for(lambda: len(producer) == 4, PATIENCE)  # 0 + 1 + 2 + 3
    assert items.asked == 4
    producer.close()


def test_look_again_finds_room_made_elsewhere():
    items, has_room = Counted(count=3), []
    producer = Producer(iter(items), lambda _: bool(has_room))
    assert items.asked == 0
    has_room.append(True)
    producer.look_again()
    assert list(producer) == [0, 1, 2]


@pytest.mark.parametrize("error", [LookupError("here"), KeyboardInterrupt(), StopAsyncIteration()])
def test_the_exception_of_the_iterator_comes_after_the_items_before_it(error):
    def items():
        yield 1
        yield 2
        raise error

    producer = Producer(items(), room_for(100))
    assert [next(producer), next(producer)] == [1, 2]
    for _ in range(2):
        with pytest.raises(type(error)):
            next(producer)


def test_the_exception_of_closing_the_iterator_is_raised():
    class Items:
        def __iter__(self):
            return self

        def __next__(self):
            raise StopIteration

        def close(self):
            raise LookupError("while it closed")

    with pytest.raises(LookupError, match="while it closed"):
        next(Producer(iter(Items()), room_for(1)))


def test_close_drops_waiting_items_and_closes_the_iterator():
    items = Counted()
    producer = Producer(iter(items), room_for(3))
    assert items.wait_for(3)
    producer.close()
    producer.close()
    assert items.ended.wait(PATIENCE)
    assert items.asked <= 4
    assert len(producer) == 0
    with pytest.raises(ClosedError, match="closed"):
        next(producer)


def test_close_wakes_the_consumer_while_the_iterator_is_blocked():
    begun, wake, said = threading.Event(), threading.Event(), []

    def items():
        begun.set()
        assert wake.wait(PATIENCE)
        yield 1

    producer = Producer(items(), room_for(1))

    def take():
        try:
            next(producer)
        except ClosedError as error:
            said.append(str(error))

    consumer = threading.Thread(target=take)
    consumer.start()
    assert begun.wait(PATIENCE)
    producer.close()
    consumer.join(PATIENCE)
    assert not wake.is_set()
    assert said == ["this iterator was closed while it waited for its next item"]
    wake.set()


def test_closing_in_a_forked_child_needs_no_lock(monkeypatch):
    items = Counted(count=2)
    producer = Producer(iter(items), room_for(1))
    assert items.wait_for(1)
    with monkeypatch.context() as patch, producer._changed:
        patch.setattr(os, "getpid", lambda: -1)
        stopping = threading.Thread(target=producer.close)
        stopping.start()
        stopping.join(PATIENCE)
        assert not stopping.is_alive()
    assert list(producer) == [0, 1]
