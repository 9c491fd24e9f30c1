"""The things that all stages of a run share: workers, windows and the end."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from weakref import WeakSet

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.errors import ClosedError
from penstock.elements.chunks.chunk import Items
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import PieceWork
from penstock.engine.tuning.settings import settings_of
from tests.workers import await_workers

PLAN = Dataset.range(9).filter(lambda x: True)._plan

ONE = Items([1])


@pytest.fixture
def session_with():
    sessions = []

    def make(carry_over=None, **options):
        settings = settings_of(Dataset.range(1).with_options(Options(**options))._plan)
        sessions.append(Session(settings, carry_over or CarryOver(), Unobserved()))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()
    await_workers()


def workers_of(session, tuner=None):
    return session.workers(PieceWork(PLAN, np.empty, Unobserved()), tuner or session.scope().tuner(), Unobserved())


def test_stages_share_the_threads_of_the_stage_that_wants_the_most(session_with):
    session = session_with(executor="threads")
    scope = session.scope()
    few, many = scope.tuner(), scope.tuner()
    few.workers, many.workers = 1, 3
    workers_of(session, few)
    assert session.mode == "1 thread"
    workers_of(session, many)
    assert session.mode == "3 threads"
    many.climb.threads = 2
    session.resize()
    assert session.mode == "2 threads"


def test_closing_a_session_wakes_waiting_threads_and_stops_everything_once(session_with):
    session = session_with(executor="threads", workers=2)
    workers_of(session)
    calls, windows = [], [session.window(), session.window()]
    session.at_close(lambda: calls.append("stopped"))
    session.check_open()
    session.close()
    session.close()
    assert calls == ["stopped"]
    for window in windows:
        with pytest.raises(ClosedError):
            window.pop()
    with pytest.raises(ClosedError):
        session.check_open()


def test_windows_and_workers_of_a_closed_session_are_closed(session_with):
    session = session_with(executor="threads", workers=2)
    session.close()
    with pytest.raises(ClosedError):
        session.window().pop()
    calls = []
    session.at_close(lambda: calls.append("stopped"))
    assert calls == ["stopped"]
    workers_of(session)  # of threads that end at once, as the fixture looks for
    session.tuners[0].climb.threads = 5
    session.resize()


def test_unreferenced_windows_are_dropped(session_with):
    session = session_with()
    for _ in range(100):
        session.window()
    gc.collect()
    assert len(session._windows) <= 1


class Far(Executor):
    """One that shares no memory, as far as anyone can tell."""

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def test_the_users_executor_stays_open(session_with):
    with ThreadPoolExecutor(1) as executor:
        session = session_with(executor=executor)
        assert session.mode == "ThreadPoolExecutor"
        assert workers_of(session).shares_gil
        session.close()
        assert executor.submit(len, "open").result() == 4


def test_plans_travel_to_an_executor_that_shares_no_memory(session_with):
    session = session_with(executor=Far())
    assert not workers_of(session).shares_gil
    assert session.mode == "Far"


def test_a_session_in_a_forked_child_ignores_the_parents_locks_and_workers(session_with):
    session = session_with(executor="threads", workers=2)
    workers_of(session)
    threads, window, calls = session.threads, session.window(), []
    session.at_close(lambda: calls.append("the parent's"))
    with session._lock, window._changed:  # as a thread of the parent may have
        session.after_fork()
        session.close()
        window.close()
    assert calls == []
    threads.shutdown()


@pytest.mark.parametrize("options", [{}, {"workers": 1}, {"executor": "threads"}], ids=str)
def test_items_are_made_ahead_by_a_thread_that_ends_with_the_session(session_with, options):
    session, threads = session_with(**options), []

    def items():
        threads.append(threading.current_thread())
        yield ONE
        while True:
            yield Items([2])

    ahead = session.ahead(items(), 3)
    assert next(ahead) is ONE
    assert threads != [threading.current_thread()]
    assert session.side_thread() is not None
    session.close()
    with pytest.raises(ClosedError):
        next(ahead)
    with pytest.raises(ClosedError):
        next(session.ahead(iter([ONE]), 3))


def test_inline_items_are_made_when_they_are_taken(session_with):
    session, items = session_with(executor="inline"), iter([1])
    assert session.ahead(items, 3) is items
    assert session.side_thread() is None


def test_a_session_that_garbage_collection_closes_while_it_begins_a_producer_closes_that_too(session_with):
    session = session_with()

    class Closing(WeakSet):
        def add(self, item):
            session.close()  # as the finalizer of an iterator does
            super().add(item)

    session._producers = Closing()
    begun = []
    beginning = threading.Thread(
        target=lambda: begun.append(session.producer(iter(range(9)), lambda ready: True)), daemon=True
    )
    beginning.start()
    beginning.join(20)
    assert not beginning.is_alive()
    with pytest.raises(ClosedError):
        next(begun[0])


def test_a_session_of_another_executor_makes_items_ahead_too(session_with):
    class Elsewhere(Executor):
        pass

    session = session_with(executor=Elsewhere())
    ahead = session.ahead(iter([ONE]), 3)
    assert list(ahead) == [ONE]
    session.close()
    with pytest.raises(ClosedError):
        next(ahead)
