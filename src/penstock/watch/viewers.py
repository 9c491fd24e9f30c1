"""Viewers of a run: a trace, event files, a report, each of which looks on while the consumer takes items."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple, Protocol

from penstock import watch
from penstock.watch.counters import Counters

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.engine.runs.run import Run
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span, SpanCounters


NEVER = 1 << 62  # ns
VIEWER_FAILED = "watching by %s failed, and the run goes on without it"


class Moment(NamedTuple):
    """A moment in which items arrived for which the consumer waited from `asked` to `now` (ns), or the run ended.

    `waited` is the time (ns) of all waits until then. `received` counts the items before them, the first of which is
    number `first_step` of all epochs, if epochs have a known length, else of its epoch; `stats()` counts everything up
    to now.
    """

    asked: int
    now: int
    waited: int
    received: int
    first_step: int
    unit: str
    stats: Callable[[], Stats]
    run: Run


class Viewer(Protocol):
    """An object that looks at a run at some moments, in the consumer's thread, and raises no error.

    One that need not look at every moment has an attribute `due`: the time (ns, of `perf_counter_ns`) of the next. One
    that needs spans has an attribute `records`: `"tasks"`, or `"operations"` for those of operations too.
    """

    def look(self, moment: Moment, spans: list[Span]) -> None:
        """Note what has happened until a moment; `spans` are those since the moment before, if they are recorded."""
        ...

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Write what is left, with the last counts if they are known; called once, when the run is over."""
        ...


class Viewers:
    """The viewers of one iterator, which end with its run; a forked child has none.

    An error of a viewer is said in the log, and that viewer looks no more: watching never ends a run.
    """

    def __init__(self) -> None:
        self.spans: SpanCounters | None = None
        """The counters that record spans, if a viewer needs them."""
        self.due = 0
        """The time (ns) before which no viewer has to look, unless the run ends."""
        self._all: list[Viewer] = []
        self._failed: set[int] = set()  # ids of viewers
        self._process = os.getpid()

    def add(self, viewer: Viewer) -> None:
        """Add a viewer."""
        self._all.append(viewer)

    def counters(self) -> Counters:
        """Return counters for a run that is about to begin."""
        records = {getattr(viewer, "records", None) for viewer in self._all} - {None}
        if not records:
            return Counters()
        self.spans = watch.trace.spans.SpanCounters(notes_operations="operations" in records)
        return self.spans

    def look(self, moment: Moment) -> None:
        """Let all viewers look; if the run is over, end them."""
        if not self._all or os.getpid() != self._process:
            return
        spans = self._taken()
        for viewer in self._all:
            if id(viewer) not in self._failed:
                self._let(viewer, lambda viewer: viewer.look(moment, spans))
        self.due = min((getattr(viewer, "due", 0) for viewer in self._all), default=0)
        if moment.run.ended is not None:
            self.close(moment.stats())

    def close(self, last: Stats | None = None) -> None:
        """End all viewers."""
        closing, self._all = self._all, []
        if not closing or os.getpid() != self._process:
            return
        spans = self._taken()
        for viewer in closing:
            self._let(viewer, lambda viewer: viewer.close(last, spans))

    def _let(self, viewer: Viewer, act: Callable[[Viewer], None]) -> None:
        try:
            act(viewer)
        except Exception:  # such as of a SummaryWriter that was passed
            self._failed.add(id(viewer))
            logging.getLogger("penstock").warning(VIEWER_FAILED, type(viewer).__name__, exc_info=True)

    def _taken(self) -> list[Span]:
        return [] if self.spans is None else self.spans.taken()


class News:
    """The tuner's decisions and the run's events that were not told before."""

    def __init__(self) -> None:
        self._decided: dict[int, int] = {}  # decisions told so far, by the number of the tuner
        self._told: dict[int, RunEvent] = {}  # by id

    def decisions(self, run: Run) -> list[str]:
        """Return the new decisions of all tuners."""
        found: list[str] = []
        for number, tuner in enumerate(run.session.tuners):
            decisions = list(tuner.decisions)
            found += decisions[self._decided.get(number, 0) :]
            self._decided[number] = len(decisions)
        return found

    def events(self, run: Run) -> list[RunEvent]:
        """Return the new events."""
        found = [event for event in list(run.session.events) if id(event) not in self._told]
        self._told |= {id(event): event for event in found}
        return found


class Pace:
    """A clock that says when something is due again, in ns of `perf_counter_ns`."""

    def __init__(self, pause: int) -> None:
        self._pause = pause
        self._due = 0

    @property
    def next(self) -> int:
        """The time at which something is due again."""
        return self._due

    def is_due(self, now: int | None = None) -> bool:
        """Return whether the pause since the last time it was due is over."""
        now = perf_counter_ns() if now is None else now
        if now < self._due:
            return False
        self._due = now + self._pause
        return True
