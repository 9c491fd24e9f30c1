"""The watchdog: it reports a consumer that waits while nothing moves, with the stack of the thread that is stuck."""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Callable, Iterator
from time import monotonic, time
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from penstock.core.events import RunEvent
from penstock.core.frames import is_ours
from penstock.core.frozen import frozen
from penstock.engine.tasks.task import Task
from penstock.plan import step as stepping
from penstock.watch import counters as counting
from penstock.watch import sampled as sampling
from penstock.watch.counters import Counters
from penstock.watch.counts import CALLS, OperationCounters
from penstock.watch.top.published import publisher

if TYPE_CHECKING:
    from types import FrameType

    from penstock.engine.runs.run import Run

LOOKS_WITHIN = 4  # within the time after which a run is stuck
INSIDE = "a dataset inside of an operation"
DEBUGGERS = {"bdb", "pdb", "pudb", "pydevd", "_pydevd_bundle", "debugpy"}
_RUNS = f"{os.sep}workers{os.sep}executors.py"  # where our threads run tasks
_WAITS = (f"{os.sep}workers{os.sep}", f"{os.sep}safety{os.sep}")  # where our threads wait for one another


@frozen()
class At:
    """A place where a thread is: `frames` from the innermost out to the operation, and the call that it is in."""

    thread: int
    frames: list[FrameType]
    call: FrameType
    operation: str = ""
    task: Task | None = None


class Watched:
    """A run, and the request of its consumer: `asked` is the moment, as a unique number; 0 if it asks for nothing."""

    def __init__(
        self,
        run: Run,
        counters: Counters,
        awaited: Callable[[], int] | None = None,
        note: Callable[[RunEvent], object] | None = None,
    ) -> None:
        """Watch a run; a consumer in another process has `awaited()` instead of `asked`, and `note` tells it events."""
        self.run = run
        self.asked = 0
        self.consumer = 0
        """The thread of the consumer."""
        self.after = run.settings.stuck_after
        self.due = monotonic() + self.after / LOOKS_WITHIN
        """The time of the next look."""
        self._counters = counters
        self._awaited = awaited
        self._note = note
        self._seen = 0
        self._since = self._waits_since = 0.0
        self._next = self.after  # seconds of waiting, until it is told again
        self._state: tuple[Any, ...] = ()

    def look(self, now: float, *, late: bool) -> tuple[RunEvent, int] | None:
        """Return an event, and the thread that is stuck, if nothing has moved for long since the looks before.

        If the look comes late, the whole process may have been stopped, and the time counts from now.
        """
        self.due = now + self.after / LOOKS_WITHIN
        asked = self.asked if self._awaited is None else self._awaited()
        if (
            not asked
            or asked != self._seen
            or late
            or self.run.is_watched_elsewhere
            or self.run.session.controls.paused
        ):
            self._seen, self._state, self._next = asked, (), self.after
            self._waits_since = now
            return None
        frames = _current_frames()
        found = self._at_work(frames)
        calls = sum(operation.total()[CALLS] for operation in self._counters.operations)
        state = calls, {at.thread: at.call for at in found}
        if state != self._state or not found or any(map(_is_debugged, found)):
            self._state, self._since = state, now
            return None
        waited = now - self._waits_since
        if now - self._since < self.after or waited < self._next:
            return None
        self._next = 2 * waited
        first = min(found, key=lambda at: -1 if at.task is None else at.task.low)
        return self._event(first, waited), first.thread

    def note(self, event: RunEvent) -> None:
        """Let the consumer know of an event."""
        (self._note or self.run.session.events.append)(event)

    def at_work(self) -> list[str]:
        """Return the operations that threads of this process are in for the run, each once."""
        return sorted({at.operation for at in self._at_work(_current_frames()) if at.operation})

    def _at_work(self, frames: dict[int, FrameType]) -> list[At]:
        """Return the threads that make something for the run; the consumer's own if there is none in this process."""
        at = [at for thread, frame in frames.items() if (at := self._place(thread, frame)) is not None]
        if at or self.consumer not in frames:
            return at
        own = list(_outwards(frames[self.consumer]))
        return [At(self.consumer, own, own[0])]

    def _place(self, thread: int, innermost: FrameType) -> At | None:
        """Return the place of a thread within an operation of the run; `None` if it waits for others or is out."""
        within: list[FrameType] = []
        for frame in _outwards(innermost):
            operation = self._operation_of(frame)
            if operation:
                break
            within.append(frame)
        else:
            return None
        first = next((each for each in within if each.f_code.co_filename != threading.__file__), None)
        theirs = [each for each in within if not is_ours(each.f_code.co_filename)]
        if first is None or (
            is_ours(first.f_code.co_filename) and any(at in first.f_code.co_filename for at in _WAITS)
        ):
            return None
        return At(thread, within, theirs[-1] if theirs else within[0], operation, _task_around(innermost))

    def _operation_of(self, frame: FrameType) -> str:
        """Return the operation of the run that a frame measures or, of a dataset that is an element, runs."""
        file = frame.f_code.co_filename
        if file in (counting.__file__, stepping.__file__):
            is_chain = file == stepping.__file__
            operation = sampling.operation_in(frame) if is_chain else frame.f_locals.get("operation")
            if isinstance(operation, OperationCounters) and operation in self._counters.operations:
                return operation.node.label()
            return ""
        threads = self.run.session.threads
        return INSIDE if threads is not None and file.endswith(_RUNS) and frame.f_locals.get("self") is threads else ""

    def _event(self, at: At, waited: float) -> RunEvent:
        from traceback import StackSummary

        run, task = self.run, at.task
        cursor = run.cursor(0)
        words = f"the consumer has waited {waited:.0f} s for {run.unit} {cursor.row} of epoch {cursor.epoch}"
        rows = None if task is None else (task.low, task.high)
        if at.operation:
            where = "" if rows is None else f" at items {rows[0]} to {rows[1]}"
            words += f", and {at.operation} does not move{where}"
        elif not run.session.mode.startswith("inline"):
            words += f", and nothing comes from {run.session.mode}"
        stack = "".join(StackSummary.extract((each, each.f_lineno) for each in reversed(at.frames)).format()).rstrip()
        name = next((each.name for each in threading.enumerate() if each.ident == at.thread), "unknown")
        return RunEvent(
            time(), "stuck", at.operation, rows, f"{words}; thread {name} ({at.thread}) is in:\n{stack}".rstrip()
        )


_current_frames: Callable[[], dict[int, FrameType]] = getattr(sys, "_current_frames")  # noqa: B009 - it is documented


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _task_around(frame: FrameType) -> Task | None:
    """Return the task that a thread makes, as a variable of the frames around an operation."""
    tasks = (each.f_locals.get("task") for each in _outwards(frame) if is_ours(each.f_code.co_filename))
    return next((task for task in tasks if isinstance(task, Task)), None)


def _is_debugged(at: At) -> bool:
    return any(str(each.f_globals.get("__name__", "")).partition(".")[0] in DEBUGGERS for each in at.frames)


class Watchdog:
    """A thread that looks at all runs a few times within their `stuck_after`, as long as there are some.

    The thread ends before a fork, so that a child of an inline run is a child of one thread; `watch` starts it again.
    """

    def __init__(self) -> None:
        self.thread: threading.Thread | None = None
        self._changed = threading.Condition()
        self._watched: WeakSet[Watched] = WeakSet()
        self._wakes = 0.0  # the time of the next look

    def watch(self, watched: Watched) -> None:
        """Look at a run from now on, as long as it is not over."""
        if watched.after == math.inf:
            return
        with self._changed:
            self._watched.add(watched)
            if self.thread is None:
                self.thread = threading.Thread(target=self._work, name="penstock-watchdog", daemon=True)
                self.thread.start()
            elif watched.due < self._wakes:
                self._changed.notify()

    def _work(self) -> None:
        while True:
            with self._changed:
                due = [each.due for each in list(self._watched) if each.run.ended is None]
                if not due or self.thread is not threading.current_thread():
                    self.thread = None if self.thread is threading.current_thread() else self.thread
                    return
                self._wakes = min(due)
                self._changed.wait(max(self._wakes - monotonic(), 0))
            self._look()

    def _look(self) -> None:
        publisher.serve()  # also a run that has never made an item
        now, told = monotonic(), set[int]()
        for watched in list(self._watched):
            if watched.due > now or watched.run.ended is not None:
                continue
            found = watched.look(now, late=now - watched.due > watched.after / LOOKS_WITHIN)
            if found is not None:
                event, thread = found
                watched.note(event)
                if thread not in told:  # by another run, inside of which this one runs
                    import logging

                    logging.getLogger("penstock").warning("%s", event)
                told.add(thread)

    def before_fork(self) -> None:
        """End the thread."""
        with self._changed:
            thread, self.thread = self.thread, None
            self._changed.notify()
        if thread is not None:
            thread.join(LAST_LOOK)

    def after_fork(self) -> None:
        """Forget the thread and the lock of the parent process."""
        self.thread, self._changed, self._watched = None, threading.Condition(), WeakSet()


LAST_LOOK = 0.2  # seconds that a fork waits for the watchdog
watchdog = Watchdog()  # of the process, like the hooks
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=watchdog.before_fork, after_in_child=watchdog.after_fork)
