"""An executor of other processes that is replaced when it breaks; the tasks that were under way are made again."""

from __future__ import annotations

import _thread
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from time import time
from typing import Any

from penstock.core.errors import WorkerError
from penstock.core.events import RunEvent
from penstock.engine.tuning.settings import is_remote
from penstock.engine.workers.executors import result_of
from penstock.engine.workers.handed_in.call import Call
from penstock.engine.workers.handed_in.departures import Departures
from penstock.engine.workers.handed_in.pools import (
    dead_processes,
    end_workers,
    ended_by,
    failed_initializer,
    listening,
    pool_ends,
    pool_like,
    processes_of,
)
from penstock.engine.workers.suspects import Death, is_own_end
from penstock.executors.protocol import is_lost_worker
from penstock.memory.cgroups import oom_kills
from penstock.transport.unsent import mark_unsent

WAITING_THERE = 4  # one call in this many waits in an executor that tells how many it runs at a time
FRUITLESS = 6  # executors that break one after another, without a task done, before the run fails
FRUITLESS_STARTED = 2  # the same, of pools whose workers ended before they took a task
FRUITLESS_KILLED = 64  # the same, of executors whose workers others may have killed


class ReplaceableExecutor:
    """An executor that makes calls, and the ones after it.

    When an executor breaks, it is unknown which of its calls killed the worker. A new executor makes all of them again
    one at a time, before it takes other calls. One with which a worker dies while it is alone is made again as its
    `Suspect` says. Nothing that may have killed a worker is ever run in this process. A new executor waits until all
    workers of the broken one are gone, so that nobody else writes into the memory of its calls.
    """

    def __init__(self, given: Any, workers: int, note: Callable[[RunEvent], None]) -> None:
        is_factory = not callable(getattr(given, "submit", None))
        self._make: Callable[[], Executor] = partial(_made, given) if is_factory else partial(pool_like, given, workers)
        self._executor: Executor | None = None if is_factory else given
        self._given = self._executor
        self._note = note
        self._tells_width = hasattr(given, "workers")
        self.workers = workers
        """The number of calls under way, under a given budget, if the executor itself does not tell."""
        self._lock = threading.RLock()  # never held while calling an executor, whose own locks guard its callbacks
        self._under_way: dict[Call, Executor] = {}
        self._suspects: deque[Call] = deque()
        self._waiting: deque[Call] = deque()
        self._alone: Call | None = None
        self._departures = Departures()
        self._broken = ""  # how the last executor broke, until another replaces it
        self._death = Death("")
        self._told: Connection | None = None  # with which the initializer of the executor failed, if it was made here
        self._fruitless = self._killed = 0  # executors in a row, by their own doing and by others
        self._unstarted = 0  # those of them whose workers took no task
        self._oom_kills = oom_kills()
        self._closed = False
        self.name = type(given).__name__ if self._given is not None else "other processes"
        """The type of the executor in use."""

    def submit(self, call: Call) -> None:
        """Make the call as soon as no other is under suspicion."""
        with self._lock:
            self._waiting.append(call)
            if self._suspects or self._alone is not None:
                return
        self._go_on()

    def admit(self) -> None:
        """Begin calls that wait, if they may."""
        if self._waiting:
            self._go_on()

    def close(self) -> None:
        """Take no more calls, and shut down the present executor unless the caller owns it."""
        with self._lock:
            self._closed = True
            executor, self._executor = self._executor, None
            self._suspects.clear()
            self._waiting.clear()
            self._under_way.clear()
        if executor is not None and executor is not self._given:
            _shut_down(executor)

    def _go_on(self) -> None:
        """Begin the next suspect, once nothing else is under way, or all calls that wait."""
        with self._lock:
            is_held = self._suspects or self._broken or self._alone is not None
            if self._closed or not (self._suspects or self._waiting) or (is_held and self._under_way):
                return
            if self._departures.under_way:
                return
            broken, suspects = self._broken, list(self._suspects)
            try:
                executor = self._executor or self._begun()
            except Exception as error:  # noqa: BLE001 - every call fails with it
                calls, executor, failure = self._suspects + self._waiting, None, _none_made(error)
                self._suspects.clear()
                self._waiting.clear()
            else:
                calls, failure = self._taken(executor), None
        if executor is None:
            for call in calls:
                call.done(failure)
            return
        if broken:
            self._report(broken, suspects, f"a new {self.name}")
        for call in calls:
            self._send(call, executor)

    def _begun(self) -> Executor:
        if self._unstarted >= FRUITLESS_STARTED:
            raise WorkerError(
                f"{self._unstarted} pools broke one after another without a task done: {self._broken}: correct the "
                "initializer= of the pool, if it has one; in a script, create and use the pool below "
                '`if __name__ == "__main__":`, because its workers run all other lines'
            )
        if self._fruitless >= FRUITLESS or self._killed >= FRUITLESS_KILLED:
            broken = self._fruitless + self._killed
            raise WorkerError(f"{broken} executors broke one after another without a task done: {self._broken}")
        executor = self._executor = self._make()
        self._told = listening(executor)
        self.name, self._broken = type(executor).__name__, ""
        return executor

    def _taken(self, executor: Executor) -> deque[Call]:
        """Take out the calls to begin now."""
        if self._suspects:
            self._alone = self._suspects.popleft()
            calls = deque([self._alone])
        else:
            calls = self._admitted(executor)
        self._under_way.update(dict.fromkeys(calls, executor))
        return calls

    def _admitted(self, executor: Executor) -> deque[Call]:
        """Take out the calls that wait; under a given budget those that may begin, one for each worker.

        An executor that tells its width is given few more than it can run, so that a call that is made again, because
        its worker was lost, does not wait behind many others.
        """
        workers = getattr(executor, "_max_workers", self.workers)
        places = workers - sum(call.may_begin is not None for call in self._under_way)
        left = len(self._waiting)
        if self._tells_width:
            left = workers + max(workers // WAITING_THERE, 1) - len(self._under_way)
        calls: deque[Call] = deque()
        held: deque[Call] = deque()
        for call in self._waiting:
            if len(calls) < left and (call.may_begin is None or (places > 0 and call.may_begin())):
                calls.append(call)
                places -= call.may_begin is not None
            else:
                held.append(call)
        self._waiting = held
        return calls

    def _send(self, call: Call, executor: Executor) -> None:
        try:
            future = call.begin(executor)
        except BrokenExecutor as error:  # broken by calls before
            self._broke(call, executor, error, begun=False)
            return
        sent = call.sent
        if sent is not None and getattr(executor, "_broken", False):
            end_workers(sent.processes)  # one that the pool has just started
        call.future = future
        call.job.futures.append(future)
        future.add_done_callback(partial(self._ended, call, executor))
        if sent is not None and isinstance(executor, ProcessPoolExecutor):
            pool_ends.watch(executor, sent.processes, self)

    def _ended(self, call: Call, executor: Executor, future: Future[Any]) -> None:
        if not self._claimed(call, future):
            return
        result = result_of(future, call.job)
        if isinstance(result, BrokenExecutor):
            self._broke(call, executor, result, begun=True)
            return
        if isinstance(result, BaseException) and is_lost_worker(result):
            self._lost(call, result)
            return
        is_own = isinstance(result, BaseException)  # of the executor: that of a task is in the answer
        opened = (mark_unsent(result), None) if is_own else call.opened(result)
        if opened is None:
            self._send(call, executor)
            return
        is_over = call.ended(*opened)
        with self._lock:
            self._under_way.pop(call, None)
            self._fruitless = self._killed = self._unstarted = 0
            was_alone, self._alone = self._alone is call, None if self._alone is call else self._alone
            if not is_over and not self._closed:
                self._suspects.appendleft(call)
        if was_alone or self._suspects or self._waiting:
            self._go_on()

    def _lost(self, call: Call, error: BaseException) -> None:
        """Make a call again whose worker ended, while the executor goes on with the others."""
        self._report(str(error), [call], "another worker")
        result = call.lost(Death(str(error)))
        with self._lock:
            self._under_way.pop(call, None)
            if result is None and not self._closed:
                self._waiting.appendleft(call)  # the consumer waits for it first
        if result is not None:
            call.done(result)
        self._go_on()

    def _broke(self, call: Call, executor: Executor, error: BrokenExecutor, *, begun: bool) -> None:
        """Put a call under suspicion, unless it is known to be deadly by now."""
        if begun and call.sent is not None:
            self._departures.hold(call.sent, self._go_on)
        with self._lock:
            if self._closed:
                return
            self._under_way.pop(call, None)
            is_first = executor is self._executor
            if is_first:
                self._death = self._death_of(executor, error, call)
                self._executor, self._broken = None, self._death.how
                self._killed += self._death.by_others
                self._fruitless += not self._death.by_others
                self._unstarted += not self._death.begun
            begun = begun and self._death.begun
            was_alone, result = self._alone is call, None
            if was_alone:
                self._alone = None
            if was_alone and begun:  # the call itself is to blame, or nobody
                result = call.died(self._death)
                self._fruitless, self._killed = min(self._fruitless, FRUITLESS - 1), 0
            if result is None:  # the one that was alone is the first to be made by a fresh executor
                (self._suspects.appendleft if was_alone else self._suspects.append)(call)
        if is_first and executor is not self._given:
            _shut_down(executor)
        if result is not None:
            call.done(result)
        self._go_on()

    def _claimed(self, call: Call, future: Future[Any] | None) -> bool:
        """Return whether the caller, and no other thread, is to take what the future of a call ended with."""
        with self._lock:
            is_mine = future is not None and call.future is future
            if is_mine:
                call.future = None
            return is_mine

    def recover(self, pool: ProcessPoolExecutor) -> None:
        """Make the calls again that a pool, which is over, has neither made nor failed."""
        with self._lock:
            begun = [(call, call.future) for call, where in self._under_way.items() if where is pool]
        for call, future in begun:
            if future is not None and not future.done() and self._claimed(call, future):
                self._broke(call, pool, BrokenExecutor("a process of the pool ended"), begun=True)

    def _death_of(self, executor: Executor, error: BrokenExecutor, call: Call) -> Death:
        """Return how an executor broke; others did it unless the process that made the suspect ended by itself."""
        before, self._oom_kills = self._oom_kills, oom_kills()
        dead = dead_processes(executor)
        if (failed := failed_initializer(executor, dead, self._told)) is not None:
            return Death(f"{type(executor).__name__} broke: {failed}", begun=False)
        told = ", ".join(f"process {each.pid} {ended_by(each.exitcode)}" for each in dead) or str(error).rstrip(".")
        own = [each for each in dead if is_own_end(each.exitcode)]
        if call.suspect is not None and call.suspect.pid is None and any(each.exitcode > 0 for each in own):
            return Death(f"{type(executor).__name__} broke: {told} before it took a task", begun=False)
        is_known = bool(own) if call.suspect is None else call.suspect.pid in [each.pid for each in own]
        by_others = bool(processes_of(executor)) and not is_known and self._oom_kills == before
        return Death(f"{type(executor).__name__} broke: {told}", by_others=by_others)

    def _report(self, broken: str, suspects: list[Call], successor: str) -> None:
        rows, operation = None, ""
        if suspects:
            rows = min(call.task.low for call in suspects), max(call.task.high for call in suspects)
            operation = suspects[0].workers.work.plan.label()
        under_way = "" if rows is None else f" while items {rows[0]} to {rows[1]} of {operation} were under way"
        words = f"{broken}{under_way}; the run continues on {successor}, with the same items"
        self._note(RunEvent(time(), "broken", operation, rows, words))
        logging.getLogger("penstock").warning("%s", words)


def _shut_down(executor: Executor) -> None:
    """Shut an executor down in another thread, since this one may be inside of it, and hold its lock.

    That is so in a callback of a pool that breaks, and if garbage collection closes a run during some `submit`.
    """
    with suppress(RuntimeError):  # at the end of the interpreter, which ends the executor
        _thread.start_new_thread(executor.shutdown, (), {"wait": False, "cancel_futures": True})


def _none_made(error: Exception) -> WorkerError:
    """Return an error after which nothing is made again in this process, where a suspect may be deadly."""
    if isinstance(error, WorkerError):
        return error
    none_made = WorkerError(f"no executor could be made: {type(error).__name__}: {error}")
    none_made.__cause__ = error
    return none_made


def _made(factory: Callable[[], Any]) -> Executor:
    """Return a new executor of other processes from the caller's factory."""
    made = factory()
    name = getattr(factory, "__name__", type(factory).__name__)
    if not callable(getattr(made, "submit", None)):
        raise TypeError(f"Options(executor={name}): the function returned {type(made).__name__}, not an Executor")
    if not is_remote(made):
        raise TypeError(
            f"Options(executor={name}): the function returned a {type(made).__name__}, which has no worker that could "
            "die; pass the executor itself, or executor='threads'"
        )
    return made
