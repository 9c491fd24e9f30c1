"""Facts about a `ProcessPoolExecutor` that only its private attributes tell: its processes, how it breaks, and why."""

from __future__ import annotations

import multiprocessing
import signal
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import suppress
from multiprocessing import Pipe, connection
from multiprocessing.connection import Connection
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, ref

from penstock.engine.workers.lifetime import LAST_WAIT
from penstock.engine.workers.suspects import UNKNOWN_CODE, told_code
from penstock.plan.functions import name_of

if TYPE_CHECKING:
    from penstock.engine.workers.handed_in.replaceable import ReplaceableExecutor

MOST_SAID = 1000  # characters of an exception, which a pipe takes at once


def pool_like(given: Executor, workers: int) -> Executor:
    """Return a pool of processes instead of an executor that the caller made: with the same settings, if known."""
    if not isinstance(given, ProcessPoolExecutor):
        return ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
    names = ("max_workers", "mp_context", "initializer", "initargs", "max_tasks_per_child")
    return ProcessPoolExecutor(**{name: vars(given)[f"_{name}"] for name in names})


def processes_of(executor: Executor) -> list[Any]:
    """Return the processes of an executor, if it is of a kind that has some."""
    return list((getattr(executor, "_processes", None) or {}).values())


def dead_processes(executor: Executor) -> list[Any]:
    """Return the processes of a broken executor that are dead; those that the pool itself ended come with SIGTERM."""
    processes = processes_of(executor)
    ended = connection.wait([each.sentinel for each in processes], 0) if processes else []
    dead = [each for each in processes if each.sentinel in ended]
    until = monotonic() + LAST_WAIT
    for each in dead:
        each.join(LAST_WAIT)  # the exit code may come a moment later
        while each.exitcode is None and monotonic() < until:  # another thread has received it, and not yet kept it
            sleep(0.001)
    return [each for each in dead if each.exitcode != -signal.SIGTERM] or dead


def ended_by(code: int | None) -> str:
    """Return how a process ended, as a clause, by its exit code."""
    if code is None or code == UNKNOWN_CODE:
        return "ended"
    return f"{'ended with' if code >= 0 else 'was killed by'} {told_code(code)}"


class PoolEnd:
    """The end of one pool: its workers are ended that it has left alive, and its users are told.

    A pool that breaks fails its calls in a thread of its own, without a lock. That thread ends early if a call was
    canceled that it is about to fail, or if somebody adds one meanwhile: other calls then never end, and neither do the
    workers that are left. Nor does a worker that the pool was starting.
    """

    def __init__(self, pool: ProcessPoolExecutor, workers: Mapping[int, Any]) -> None:
        """Wait in a thread for the end of a pool with these `workers`, by process id, as it knows them."""
        self._pool = ref(pool)
        self._workers = workers
        self._users: WeakSet[ReplaceableExecutor] = WeakSet()
        self._lock = threading.Lock()
        fails_calls: threading.Thread | None = vars(pool)["_executor_manager_thread"]
        self._is_over = fails_calls is None and bool(vars(pool)["_broken"])  # it was shut down meanwhile
        if fails_calls is not None:
            thread = threading.Thread(target=self._await, args=[fails_calls], name="penstock-pool-end", daemon=True)
            with suppress(RuntimeError):  # at the end of the interpreter
                thread.start()

    def tell(self, user: ReplaceableExecutor) -> None:
        """Let a user `recover` its calls once the pool is over; now, if it is."""
        with self._lock:
            if not self._is_over:
                self._users.add(user)
                return
        self._tell(user)

    def _await(self, fails_calls: threading.Thread) -> None:
        fails_calls.join()
        end_workers(self._workers)
        with self._lock:
            self._is_over, users = True, list(self._users)
        for user in users:
            self._tell(user)

    def _tell(self, user: ReplaceableExecutor) -> None:
        if (pool := self._pool()) is not None:
            user.recover(pool)


class PoolEnds:
    """The ends of all pools that runs of this process use, each awaited by one thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: WeakKeyDictionary[ProcessPoolExecutor, PoolEnd] = WeakKeyDictionary()

    def watch(self, pool: ProcessPoolExecutor, workers: Mapping[int, Any], user: ReplaceableExecutor) -> None:
        """Tell a user, which has submitted a call to a pool with these workers, once the pool is over."""
        with self._lock:
            end = self._ends.get(pool)
            if end is None:
                end = self._ends[pool] = PoolEnd(pool, workers)
        end.tell(user)


def end_workers(workers: Mapping[int, Any]) -> None:
    """End the workers of a pool that is broken or over, also one that it was starting meanwhile."""
    for each in list(workers.values()):
        each.terminate()


pool_ends = PoolEnds()
"""The ends of the pools of this process."""


class Telling:
    """An initializer that tells the process of the pool the exception with which it fails."""

    def __init__(self, func: Callable[..., Any], to: Connection) -> None:
        self.func = func
        self._to = to

    def __call__(self, *args: Any) -> None:
        try:
            self.func(*args)
        except BaseException as error:
            with suppress(OSError):  # nobody listens any longer
                self._to.send(f"{type(error).__name__}: {error}"[:MOST_SAID])
            raise


def listening(pool: object) -> Connection | None:
    """Let the initializer of a new pool tell with which exception it fails; return where, `None` without one."""
    given = vars(pool)["_initializer"] if isinstance(pool, ProcessPoolExecutor) else None
    if given is None or vars(pool)["_processes"]:
        return None
    ours, theirs = Pipe(duplex=False)
    vars(pool)["_initializer"] = Telling(_own(given), theirs)
    return ours


def failed_initializer(pool: object, dead: list[Any], told: Connection | None) -> str | None:
    """Return how the initializer of a broken pool failed, given its dead processes; `None` if it did not.

    A worker ends by itself, with exit code 0, if its initializer fails, after its last task, and with its pool.
    """
    if not isinstance(pool, ProcessPoolExecutor) or vars(pool)["_initializer"] is None:
        return None
    name = name_of(_own(vars(pool)["_initializer"]))
    if told is not None and told.poll():
        return f"its initializer {name} raised {told.recv()}"
    limited = vars(pool)["_max_tasks_per_child"] is not None
    if limited or not any(each.exitcode == 0 for each in dead):
        return None
    return f"its initializer {name} failed in a worker, which wrote why to standard error"


def _own(initializer: Callable[..., Any]) -> Callable[..., Any]:
    return initializer.func if isinstance(initializer, Telling) else initializer
