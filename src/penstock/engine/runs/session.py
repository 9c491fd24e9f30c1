"""The session that all stages of a run share: workers, memory, tuners and the end of the run."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from penstock.core.budget import Account, HolderKind
from penstock.core.errors import ClosedError
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.footprint import memory_of
from penstock.engine import memory, workers
from penstock.engine.memory.pool import Memory, each_alone
from penstock.engine.runs.carry_over import CarryOver
from penstock.engine.runs.controls import Controls
from penstock.engine.runs.failures import note_once
from penstock.engine.runs.outside import OutsideWorkers
from penstock.engine.runs.settings import ISOLATED, Settings
from penstock.engine.tasks.cores import only_on, side_thread
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.observer import Observer, Unobserved
from penstock.engine.tasks.works import Work, bound_caches
from penstock.engine.tuning.tuner import Tuner
from penstock.engine.workers.protocol import Workers
from penstock.engine.workers.window import WHILE_WAITING, Window
from penstock.kernels import SideThread
from penstock.plan.node import Node

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.engine.memory.freed import FreedMemory
    from penstock.engine.processes.moved import MovedWorkers
    from penstock.engine.runs.isolated import ToldFacts
    from penstock.engine.workers.producer import Producer
    from penstock.engine.workers.threads import Threads
    from penstock.plan.safety.reads import Reads

T = TypeVar("T")
MOST_EVENTS = 100


class Session:
    """Provider of workers, memory and tuners for stages. `close` stops all of them, and may be called by any thread."""

    def __init__(
        self, settings: Settings, carry_over: CarryOver, observer: Observer, outer: Session | None = None
    ) -> None:
        self.settings = settings
        self.budget = settings.budget() if outer is None else outer.budget
        self._freed: FreedMemory | None = None
        self.observer = observer
        self.controls = Controls()  # of the run, which sets it
        self.allocate = carry_over.memory.allocate
        shares = settings.is_remote and not carry_over.has_given_slots
        self.allocate_slot = each_alone(carry_over.memory.allocate_shared) if shares else carry_over.allocate_slot
        self.has_given_slots = carry_over.has_given_slots
        self.tuners: list[Tuner] = []
        self.spent = Cost(0, 0)
        self._carry_over, self._outer = carry_over, outer
        self._stages = self._operations = 0
        self.may_move = settings.begins_inline and not settings.hosted and outer is None  # from threads to processes
        self.turns = 1  # stages of one kind that alternate, and share the items made ahead
        self._threads: Threads | None = None
        self.has_threads = False  # of the session, or of the user's executor
        self.events: deque[RunEvent] = deque(maxlen=MOST_EVENTS)  # to which any thread may add
        self.note_once = partial(note_once, set[str](), self.events)  # that the run goes on without something
        self._outside = OutsideWorkers(carry_over, self.budget, self.events.append, self.note_once)
        self.starting = 0  # ns that the consumer has waited for the start of the process that makes the run
        self.told: ToldFacts | None = None  # the facts of the process that makes the run, if another one does
        self._inner: WeakSet[Session] = WeakSet()
        self._windows: WeakSet[Window] = WeakSet()
        self._producers: WeakSet[Producer[Any]] = WeakSet()
        self._to_close: list[Callable[[], Any]] = []
        self._lock = threading.RLock()  # garbage collection may close the session in a thread that holds it
        self._closed = False

    @property
    def memory(self) -> Memory:
        """The memory of batches."""
        return self._carry_over.memory

    def tuner(self, *, of_stream: bool = True) -> Tuner:
        """Return a tuner for one stage, with the measurements of the same stage in the run before."""
        self._stages += 1
        if self._stages > len(self.tuners):
            settings, stage = self.settings, len(self.tuners)
            pinned, begins_inline = settings.pinned(stage), settings.begins_inline
            tuner = self._carry_over.tuner(settings.workers, stage=stage, begins_inline=begins_inline, pinned=pinned)
            tuner.most_cores, tuner.by_default = settings.most_cores, settings.by_default
            if of_stream:
                tuner.long_groups()
            self.tuners.append(tuner)
        return self.tuners[self._stages - 1]

    def inner(self) -> Session:
        """Return a session with the same workers for datasets that are elements; their work is not counted."""
        executor = "inline" if self.settings.is_remote else self.settings.executor
        settings = replace(self.settings, tuning=None, executor=executor)
        session = Session(settings, CarryOver(), Unobserved(), self)
        self._inner.add(session)
        return session

    def begin_again(self) -> None:
        """Hand out the same tuners to the stages of another dataset of the same kind, and the same numbers."""
        self._stages = self._operations = 0

    def number(self) -> int:
        """Return the number of the next operation of the plan, from the sources up, by which an observer knows it."""
        self._operations += 1
        return self._operations - 1

    def alike(self, count: int) -> Iterator[Session]:
        """Yield this session for each of `count` alternating plans of one kind, with shared tuners and numbers."""
        stages, operations = self._stages, self._operations
        self.turns *= count
        for _ in range(count):
            self._stages, self._operations = stages, operations
            yield self
        self.turns //= count

    def is_inline(self, tuner: Tuner) -> bool:
        """Return whether a stage runs in the thread that requests its elements."""
        settings = self.settings
        if settings.executor == "inline":
            return True
        if not isinstance(settings.executor, str) and self._outer is not None:  # most datasets in datasets are cheap
            return not tuner.threads_pay()
        return settings.begins_inline and (tuner.has_returned or not (tuner.threads or tuner.threads_pay()))

    def workers(self, work: Work, tuner: Tuner, observer: Observer) -> Workers:
        """Return workers for a stage; all stages share the threads of the stage that wants the most."""
        if self._outer is not None:
            return self._outer.workers(work, tuner, observer)
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
            if self._threads is None:
                self._threads = workers.threads.Threads(threads, self.settings.cores)
                if self._closed:
                    self._threads.shutdown()
        self.resize()
        return workers.executors.ThreadWorkers(work, self._threads)

    def moved(self, work: Work, observer: Observer, count: int, reads: Reads) -> MovedWorkers:
        """Return processes that could make the tasks of threads, given what their functions read."""
        return self._outside.moved(work, observer, count, reads, self.settings)

    def move_to(self, moved: MovedWorkers) -> None:
        """Note that processes make the tasks of a stage from now on, and allocate slots that they can write to."""
        self._outside.in_processes.append(moved)
        self.resize()
        if not self.has_given_slots:
            self.allocate_slot = each_alone(self.memory.allocate_shared)

    def return_inline(self) -> None:
        """Note that the consumer's thread makes the items of a stage from now on."""
        self.has_threads = any(tuner.threads for tuner in self.tuners)
        self.resize()

    def follow(self, workers: int) -> None:
        """Continue with the number of workers that the executor has now."""
        self.settings = replace(self.settings, workers=workers)
        if self._outside.executor is not None:
            self._outside.executor.workers = workers

    def resize(self) -> None:
        """Continue with the number of threads, and of processes, that the stages want now."""
        if self._outer is not None:
            self._outer.resize()
            return
        tuners = [tuner for session in [self, *self._inner] for tuner in session.tuners]
        wanted = self.controls.threads_wanted(tuners)
        if self._threads is not None and self._threads.workers != wanted:
            self._threads.resize(wanted)
        self._outside.want(max((tuner.threads for tuner in tuners), default=1))

    def look_again(self) -> None:
        """Continue with the threads that are wanted now, and let producers look whether they may go on."""
        self.resize()
        for producer in list(self._producers):
            producer.look_again()

    @property
    def jobs_ahead(self) -> int:
        """The number of jobs of all stages begun and not taken yet."""
        return sum(map(len, list(self._windows))) if self.told is None else self.told.ahead

    @property
    def made_elsewhere(self) -> list[str]:
        """The operations whose elements other processes make, each the last one of a stage."""
        return self._outside.operations

    @property
    def contention(self) -> float:
        """The share of the time for which a thread that makes items, and wants the GIL, waits for another thread."""
        if self.told is not None or not self.has_threads or self.made_elsewhere:
            return 0.0
        return max((tuner.contention or 0.0 for tuner in self.tuners), default=0.0)

    @property
    def waits_for_processes(self) -> bool:
        """True if the consumer's thread makes the items, until the first worker process has started."""
        return self._outside.starts

    @property
    def unfinished(self) -> int:
        """The number of jobs of all stages that workers have not finished."""
        if self._outer is not None:
            return self._outer.unfinished
        return sum(window.unfinished for window in list(self._windows))

    @property
    def windows(self) -> list[Window]:
        """The windows of all stages, also of datasets that are elements."""
        return list(self._windows)

    def account(self, name: str, kind: HolderKind = "buffer", /) -> Account:
        """Return an account for what some part of the run holds of the memory budget."""
        return self.budget.account(name, kind)

    def tidy(self) -> None:
        """Give freed memory back to the system now and then, if there is much of it and the budget is given."""
        if self._outer is not None:
            self._outer.tidy()
        elif self._freed is not None and (self._closed or self._freed.is_due):
            held, own = self.budget.held, self.memory
            shared = 0 if own.arena is None else own.arena.live_bytes
            self._freed.look(max(sum(held.values()) - shared, 0) + own.pool.bytes_idle)

    def keep_within_budget(self, plan: Node) -> None:
        """Let the caches of a plan and the C library keep as many bytes as the memory budget allows."""
        bound_caches(plan, self.budget)
        if self.budget.given:
            most = self.budget.limit // memory.freed.KEPT_SHARE
            memory.freed.keep_less(most)
            self._freed = memory.freed.FreedMemory(most)

    def window(self, account: Account | None = None, *, ordered: bool = True) -> Window:
        """Return a window that closes with the session."""
        if self._outer is not None:
            return self._outer.window(account)
        window = Window(ordered=ordered, account=account)
        self._windows.add(window)
        if self._closed:
            window.close()
        return window

    def producer(
        self, items: Iterator[T], has_room: Callable[[deque[T]], bool], size: Callable[[T], int] | None = None
    ) -> Producer[T]:
        """Return a producer that closes with the session; `size` returns the bytes of an item, if they are to count."""
        if self._outer is not None:
            return self._outer.producer(items, has_room, size)
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
        if self._outer is not None:
            return self._outer.ahead(items, most)
        if self.settings.executor == "inline":
            return items
        return self.producer(items, lambda ready: len(ready) < most, memory_of)

    def side_thread(self) -> SideThread | None:
        """Return a native thread, unless the run is inline."""
        if self._outer is not None:
            return self._outer.side_thread()
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
        if self._outer is not None:
            self._outer.check_open()
        elif self._closed:
            raise ClosedError(WHILE_WAITING)

    def after_fork(self) -> None:
        """Forget all workers and their locks in a forked child, which begins another session."""
        self._lock = threading.RLock()
        self._threads, self._to_close = None, []
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
        if self._threads is not None:
            self._threads.shutdown()
        self._outside.close()
        self.tidy()

    @property
    def mode(self) -> str:
        """The place where tasks run: `inline`, the number of threads, or the type of the user's executor."""
        if self.told is not None:
            return ISOLATED + self.told.mode
        executor = self.settings.executor
        outside = self._outside
        if outside.in_processes and executor == "auto":
            return outside.in_processes[-1].name
        if outside.executor is not None:
            return outside.executor.name
        if not isinstance(executor, str):
            return type(executor).__name__
        if outside.in_processes and self._threads is None:
            return outside.in_processes[0].name
        wanted = max((tuner.threads for tuner in self.tuners), default=1)
        threads = self._threads if wanted else None
        workers = 0 if threads is None else threads.workers or wanted  # none while the run is paused
        return f"{workers} thread{'' if workers == 1 else 's'}" if workers else "inline"
