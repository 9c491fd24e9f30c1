"""What all stages of one streamed run share: the workers, the budget, and the end."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any
from weakref import WeakSet

from penstock.core.errors import ClosedError
from penstock.engine.crew import Crew, Making, RemoteCrew, ThreadCrew, runs_here
from penstock.engine.executors.threads import Threads
from penstock.engine.legacy import Legacy
from penstock.engine.observer import Observer, Unobserved
from penstock.engine.settings import Settings
from penstock.engine.task import Cost
from penstock.engine.tuning.tuner import Tuner
from penstock.engine.window import WHILE_WAITING, Window
from penstock.plan.graph import same
from penstock.plan.node import Node


class Workshop:
    """Hands stages their workers, and stops them all at once. `close` may be called from any thread."""

    def __init__(self, settings: Settings, legacy: Legacy, observer: Observer, outer: Workshop | None = None) -> None:
        self.settings = settings
        self.observer = observer
        self.allocate = legacy.memory.allocate
        self.tuners: list[Tuner] = []
        self.spent = Cost(0, 0)
        self._legacy = legacy
        self._outer = outer
        self._stages = 0
        self.turns = 1  # how many stages of a kind go on side by side, and share what is made ahead
        self._threads: Threads | None = None
        self.has_threads = False  # our own, or the caller's
        self._remote: list[tuple[Node, Observer, Crew]] = []
        self._inner: WeakSet[Workshop] = WeakSet()
        self._windows: WeakSet[Window] = WeakSet()
        self._to_close: list[Callable[[], Any]] = []
        self._lock = threading.Lock()
        self._closed = False

    def tuner(self) -> Tuner:
        """A tuner for one stage, which knows what that of the same stage knew in the run before."""
        self._stages += 1
        if self._stages > len(self.tuners):
            tuner = self._legacy.tuner(self.settings.workers, stage=len(self.tuners))
            tuner.long_groups()
            self.tuners.append(tuner)
        return self.tuners[self._stages - 1]

    def inner(self) -> Workshop:
        """A workshop with the same workers, for datasets that are elements: many, of few kinds, and not counted."""
        settings = self.settings
        executor = settings.executor
        if isinstance(executor, Executor) and not runs_here(executor):  # a plan that travels is worth long work only
            settings = replace(settings, executor="inline")
        shop = Workshop(settings, Legacy(), Unobserved(), self)
        self._inner.add(shop)
        return shop

    def begin_again(self) -> None:
        """Hand out the same tuners to the stages of another dataset of the same kind."""
        self._stages = 0

    def alike(self, count: int) -> Iterator[Workshop]:
        """This shop, for each of `count` plans of one kind that take turns: with the same tuners, counted as one."""
        stages = self._stages
        self.turns *= count
        for _ in self.observer.alike(count):
            self._stages = stages
            yield self
        self.turns //= count

    def is_inline(self, tuner: Tuner) -> bool:
        """Whether a stage works in the thread that asks it for elements."""
        settings = self.settings
        if settings.executor == "inline":
            return True
        if isinstance(settings.executor, Executor) and self._outer is not None:  # most datasets in datasets are cheap
            return not tuner.threads_pay()
        return settings.executor == "auto" and settings.workers is None and not (tuner.threads or tuner.threads_pay())

    def crew(self, maker: Making, tuner: Tuner, observer: Observer) -> Crew:
        """Workers for a stage; threads are shared by all stages, as many as the one that wants most."""
        if self._outer is not None:
            return self._outer.crew(maker, tuner, observer)
        executor = self.settings.executor
        workers = tuner.start_threads()
        if isinstance(executor, Executor) and not runs_here(executor):
            return self._remote_crew(maker, executor, observer)
        self.has_threads = True
        if isinstance(executor, Executor):
            return ThreadCrew(maker, executor)
        with self._lock:
            if self._threads is None:
                self._threads = Threads(workers)
                if self._closed:
                    self._threads.shutdown(wait=False)
        self.resize()
        return ThreadCrew(maker, self._threads)

    def _remote_crew(self, maker: Making, executor: Executor, observer: Observer) -> Crew:
        """One for all stages that do the same, so that their plan travels once."""
        for source, counts, crew in self._remote:
            if counts is observer and same(source, maker.source):
                return crew
        crew = RemoteCrew(maker, executor, observer)
        self._remote.append((maker.source, observer, crew))
        self.at_close(crew.close)
        return crew

    def resize(self) -> None:
        """Go on with as many threads as the stages want now."""
        if self._outer is not None:
            self._outer.resize()
            return
        tuners = [tuner for shop in [self, *self._inner] for tuner in shop.tuners]
        wanted = max((tuner.threads for tuner in tuners), default=1)
        if self._threads is not None and self._threads.workers != wanted:
            self._threads.resize(wanted)

    @property
    def unfinished(self) -> int:
        """Units of all stages that workers have, or will have, to do."""
        if self._outer is not None:
            return self._outer.unfinished
        return sum(window.unfinished for window in list(self._windows))

    def window(self) -> Window:
        """A window that closes with the workshop."""
        if self._outer is not None:
            return self._outer.window()
        window = Window(ordered=True)
        self._windows.add(window)
        if self._closed:
            window.close()
        return window

    def at_close(self, stop: Callable[[], Any]) -> None:
        """Call `stop` when the run ends."""
        with self._lock:
            if not self._closed:
                self._to_close.append(stop)
                return
        stop()

    def check_open(self) -> None:
        """Raise a `ClosedError` once the run is over: work that may go on without end asks before each step."""
        if self._outer is not None:
            self._outer.check_open()
        elif self._closed:
            raise ClosedError(WHILE_WAITING)

    def after_fork(self) -> None:
        """In a forked child, which begins another workshop: forget all workers, and do without any of their locks."""
        self._lock = threading.Lock()
        self._threads, self._remote, self._to_close = None, [], []
        for window in list(self._windows):
            window.after_fork()

    def close(self) -> None:
        """Drop all that waits, wake whoever waits for it, and let the workers end with the task they are in."""
        with self._lock:
            self._closed = True
            stops, self._to_close = self._to_close, []
            windows = list(self._windows)
        for stop in [*stops, *(window.close for window in windows)]:
            stop()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    @property
    def mode(self) -> str:
        """Where stages work."""
        executor = self.settings.executor
        if isinstance(executor, Executor):
            return type(executor).__name__
        workers = 0 if self._threads is None else self._threads.workers
        return f"{workers} thread{'' if workers == 1 else 's'}" if workers else "inline"
