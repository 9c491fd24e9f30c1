"""The session that all stages of a run share: workers, windows, the budget, what others ask for, and the end."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import time
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from penstock import memory
from penstock.core.budget import Account, HolderKind
from penstock.core.errors import ClosedError
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.footprint import memory_of
from penstock.engine import workers
from penstock.engine.runs.scope import CarryOver, Scope
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.observer import Observer
from penstock.engine.tasks.works import Work, bound_caches
from penstock.engine.tuning.settings import ISOLATED, Settings
from penstock.engine.tuning.tuner import Tuner
from penstock.engine.workers.controls import Controls
from penstock.engine.workers.outside import OutsideWorkers
from penstock.engine.workers.window import WHILE_WAITING, Window
from penstock.kernels import SideThread
from penstock.memory.cores import only_on, side_thread
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.engine.workers.executors import Threads, Workers
    from penstock.engine.workers.processes.workers import MovedWorkers
    from penstock.engine.workers.producer import Producer
    from penstock.memory.freed import FreedMemory
    from penstock.plan.safety.reads import Reads

T = TypeVar("T")
MOST_EVENTS = 100
MOST_THREADS = 1024


@dataclass(eq=False)
class IsolatedRun:
    """The facts about a run that another process makes, as that told them last."""

    mode: str = ""
    """The place where tasks run there; empty before the first facts."""
    ahead: int = 0
    """The number of jobs or pieces begun there and not taken yet."""
    made_elsewhere: tuple[str, ...] = ()
    """The operations whose elements yet other processes make, each the last one of a stage."""
    failed_at: int = 0
    """The number of the item that failed."""
    is_begun: bool = False
    """True while a process makes the run, and tells when nothing moves."""


class Session:
    """The workers and windows of a run, for the stages of its plan and of all datasets that are elements.

    `close` stops all of them, and may be called by any thread.
    """

    def __init__(
        self, settings: Settings, carry_over: CarryOver, observer: Observer, controls: Controls | None = None
    ) -> None:
        self.settings = settings
        self.budget = settings.budget()
        self.observer = observer
        self.controls = controls or Controls()
        self.carry_over = carry_over
        self.tuners: list[Tuner] = []
        """The tuners of the stages of the plan, in the order in which these are made."""
        self.spent = Cost(0, 0)
        """The cost of all tasks of these stages."""
        self.threads: Threads | None = None
        self.has_threads = False  # of the session, or of the user's executor
        self.events: deque[RunEvent] = deque(maxlen=MOST_EVENTS)  # to which any thread may add
        self.note_once = partial(_note_once, set[str](), self.events)  # no cycle, which would keep worker processes
        self.starting = 0  # ns that the consumer has waited for the start of the process that makes the run
        self.isolated: IsolatedRun | None = None
        """The facts known about the run if another process makes it."""
        self._outside = OutsideWorkers(carry_over.workers, self.budget, self.events.append, self.note_once)
        self._freed: FreedMemory | None = None
        self._inner: WeakSet[Scope] = WeakSet()
        self._windows: WeakSet[Window] = WeakSet()
        self._producers: WeakSet[Producer[Any]] = WeakSet()
        self._to_close: list[Callable[[], Any]] = []
        self._lock = threading.RLock()  # garbage collection may close the session in a thread that holds it
        self._closed = False

    def scope(self) -> Scope:
        """Return the scope of the stages of the run's plan."""
        return Scope(self, self.carry_over, self.observer)

    def add_inner(self, scope: Scope) -> None:
        """Let the stages of a scope of datasets that are elements have threads, as long as it is in use."""
        self._inner.add(scope)

    def workers(self, work: Work, tuner: Tuner, observer: Observer) -> Workers:
        """Return workers for a stage; all stages share the threads of the stage that wants the most."""
        executor: Any = self.settings.executor
        threads = tuner.start_threads(in_processes=executor == "processes")
        if executor == "processes":
            if (found := self._outside.processes_for(work, observer, self.settings)) is not None:
                self.resize()
                return found
            tuner.fix(threads, "no process can be started")
        elif self.settings.is_remote:
            made = self._outside.remote(work, threads, observer, self.settings, self.at_close)
            tuner.is_far = made.is_far
            return made
        self.has_threads = True
        if not isinstance(executor, str):
            return workers.executors.ThreadWorkers(work, executor)
        with self._lock:
            if self.threads is None:
                self.threads = workers.executors.Threads(threads, self.settings.cores)
                if self._closed:
                    self.threads.shutdown()
        self.resize()
        return workers.executors.ThreadWorkers(work, self.threads)

    def moved(
        self, kind: Callable[..., MovedWorkers], work: Work, observer: Observer, count: int, reads: Reads
    ) -> MovedWorkers:
        """Return processes, of a `kind` that stands for threads, that could make their tasks."""
        return self._outside.moved(kind, work, observer, count, reads, self.settings)

    def move_to(self, moved: MovedWorkers) -> None:
        """Note that processes make the tasks of a stage from now on."""
        self._outside.in_processes.append(moved)
        self.resize()

    def return_inline(self) -> None:
        """Note that the consumer's thread makes the items of a stage from now on."""
        self.has_threads = any(tuner.threads for tuner in self.tuners)
        self.resize()

    def follow(self, workers: int) -> None:
        """Continue with the number of workers that the executor has now."""
        self.settings = replace(self.settings, workers=workers)
        if self._outside.executor is not None:
            self._outside.executor.workers = workers
        for tuner in self.tuners:
            if tuner.workers != workers:
                tuner.fix(workers, "as many as the executor has now")

    def resize(self) -> None:
        """Continue with the number of threads, and of processes, that the stages want now."""
        tuners = [*self.tuners, *(tuner for scope in self._inner for tuner in scope.tuners)]
        wanted = self.controls.threads_wanted(tuners)
        if self.threads is not None and self.threads.workers != wanted:
            self.threads.resize(wanted)
        self._outside.want(max((tuner.threads for tuner in tuners), default=1))

    # What other threads ask for

    def pause(self) -> None:
        """Begin no task from now on, and let the consumer wait, until `resume`; any thread may call both."""
        self.controls.pause()
        self._look_again()

    def resume(self) -> None:
        """Go on after `pause`."""
        self.controls.resume()
        self._look_again()

    def _look_again(self) -> None:
        """Continue with the threads that are wanted now, and let producers look whether they may go on."""
        self.resize()
        for producer in list(self._producers):
            producer.look_again()

    def change_workers(self, workers: int) -> str | None:
        """Ask for a number of threads, from the next items on; return why the run cannot have it, if it cannot."""
        executor = self.settings.executor
        if self.isolated is not None or self.made_elsewhere or executor == "processes":
            return "other processes make the elements"
        if not isinstance(executor, str):
            return "its executor was passed, and has workers of its own"
        if workers > MOST_THREADS:
            return f"{workers:,} threads are more than {MOST_THREADS:,}"
        if executor == "inline":
            return "it is inline, as its options or functions require"
        self.controls.change_workers(workers)
        return None

    def change_budget(self, nbytes: int) -> str | None:
        """Bound the memory of work ahead; return why that cannot be, if it cannot."""
        if self.isolated is not None:
            return "another process makes the elements"
        self.budget.change(nbytes)
        return None

    def heed(self) -> int:
        """Do in the consumer's thread what others asked for; return the ns for which the run was paused."""
        took = self.controls.waited()
        workers = self.controls.workers
        if workers is not None and self.settings.workers != workers:
            self.settings = replace(self.settings, workers=workers)
            for tuner in self.tuners:
                tuner.fix(workers)
            self.resize()
        return took

    # Facts

    @property
    def jobs_ahead(self) -> int:
        """The number of jobs of all stages begun and not taken yet."""
        return sum(map(len, list(self._windows))) if self.isolated is None else self.isolated.ahead

    @property
    def made_elsewhere(self) -> Sequence[str]:
        """The operations whose elements worker processes make, each the last one of a stage."""
        return self._outside.operations if self.isolated is None else self.isolated.made_elsewhere

    @property
    def contention(self) -> float:
        """The share of the time for which a thread that makes items, and wants the GIL, waits for another thread."""
        if self.isolated is not None or not self.has_threads or self.made_elsewhere:
            return 0.0
        return max((tuner.contention or 0.0 for tuner in self.tuners), default=0.0)

    @property
    def waits_for_processes(self) -> bool:
        """True if the consumer's thread makes the items, until the first worker process has started."""
        return self._outside.starts

    @property
    def unfinished(self) -> int:
        """The number of jobs of all stages that workers have not finished."""
        return sum(window.unfinished for window in list(self._windows))

    @property
    def mode(self) -> str:
        """The place where tasks run: `inline`, the number of threads, or the type of the user's executor."""
        if self.isolated is not None and self.isolated.mode:
            return ISOLATED + self.isolated.mode
        executor = self.settings.executor
        outside = self._outside
        if outside.in_processes and executor == "auto":
            return outside.in_processes[-1].name
        if outside.executor is not None:
            return outside.executor.name
        if not isinstance(executor, str):
            return type(executor).__name__
        if outside.in_processes and self.threads is None:
            return outside.in_processes[0].name
        wanted = max((tuner.threads for tuner in self.tuners), default=1)
        threads = self.threads if wanted else None
        workers = 0 if threads is None else threads.workers or wanted  # none while the run is paused
        return f"{workers} thread{'' if workers == 1 else 's'}" if workers else "inline"

    # Memory

    def account(self, name: str, kind: HolderKind = "buffer", /) -> Account:
        """Return an account for what some part of the run holds of the memory budget."""
        return self.budget.account(name, kind)

    def tidy(self) -> None:
        """Give freed memory back to the system now and then, if there is much of it and the budget is given."""
        if self._freed is not None and (self._closed or self._freed.is_due):
            held, own = self.budget.held, self.carry_over.memory
            shared = 0 if own.arena is None else own.arena.live_bytes
            self._freed.look(max(sum(held.values()) - shared, 0) + own.pool.bytes_idle)

    def keep_within_budget(self, plan: Node) -> None:
        """Let the caches of a plan and the C library keep as many bytes as the memory budget allows."""
        bound_caches(plan, self.budget)
        if self.budget.given:
            most = self.budget.limit // memory.freed.KEPT_SHARE
            memory.freed.keep_less(most)
            self._freed = memory.freed.FreedMemory(most)

    # What ends with the run

    def window(self, account: Account | None = None, *, ordered: bool = True) -> Window:
        """Return a window that closes with the session."""
        window = Window(ordered=ordered, account=account)
        self._windows.add(window)
        if self._closed:
            window.close()
        return window

    def producer(
        self, items: Iterator[T], has_room: Callable[[deque[T]], bool], size: Callable[[T], int] | None = None
    ) -> Producer[T]:
        """Return a producer that closes with the session; `size` returns the bytes of an item, if they are to count."""
        gated = self.controls.gated(has_room)
        with only_on(self.settings.cores):
            producer = workers.producer.Producer(items, gated, self.account("elements made ahead", "ahead"), size)
        with self._lock:
            self._producers.add(producer)
        if self._closed:
            producer.close()
        return producer

    def ahead(self, items: Iterator[Chunk], most: int, /) -> Iterator[Chunk]:
        """Return the items, up to `most` of them made ahead by a thread unless the run is inline."""
        if self.settings.executor == "inline":
            return items
        return self.producer(items, lambda ready: len(ready) < most, memory_of)

    def side_thread(self) -> SideThread | None:
        """Return a native thread, unless the run is inline."""
        return None if self.settings.executor == "inline" else side_thread(self.settings.cores)

    def at_close(self, stop: Callable[[], Any]) -> None:
        """Call `stop` when the run ends."""
        with self._lock:
            if not self._closed:
                self._to_close.append(stop)
                return
        stop()

    def check_open(self) -> None:
        """Raise a `ClosedError` if the run is over; work that may be endless calls this before each step."""
        if self._closed:
            raise ClosedError(WHILE_WAITING)

    def after_fork(self) -> None:
        """Forget all workers and their locks in a forked child, which begins another session."""
        self._lock = threading.RLock()
        self.threads, self._to_close = None, []
        self._outside.after_fork()
        for window in list(self._windows):
            window.after_fork()

    def close(self) -> None:
        """Drop all waiting work, wake the threads that wait for it, and let workers end after the task in hand."""
        with self._lock:
            self._closed = True
            stops, self._to_close = self._to_close, []
            waiting = [*self._windows, *self._producers]
        for stop in [*stops, *(each.close for each in waiting)]:
            stop()
        if self.threads is not None:
            self.threads.shutdown()
        self._outside.close()
        self.tidy()


def _note_once(noted: set[str], events: deque[RunEvent], words: str) -> None:
    """Note that a run goes on without something, unless it was noted before."""
    if words not in noted:
        import logging  # expensive to load, and rarely needed

        from penstock.core.events import RunEvent

        noted.add(words)
        events.append(RunEvent(time(), "degraded", "", None, words))
        logging.getLogger("penstock").warning("%s", words)
