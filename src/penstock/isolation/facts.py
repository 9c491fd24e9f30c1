"""The facts about an isolated run that its process sends to the consumer, besides the items."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.core.budget import HolderKind
from penstock.core.frozen import frozen
from penstock.engine.tasks.cost import Cost
from penstock.engine.tuning.tuner import Tuner

if TYPE_CHECKING:
    from penstock.core.events import RunEvent
    from penstock.engine.cursors.cursor import Cursor
    from penstock.engine.runs.run import Run
    from penstock.engine.tasks.observer import Observer
    from penstock.engine.tuning.settings import Settings
    from penstock.memory.pool import Memory
    from penstock.plan.node import Node

NOT_APART = "Options(isolate=False) yields the same elements"
PAUSE = 50_000_000  # ns between two times that the facts are told


@frozen()
class WholePlan:
    """The plan of a run, which travels as the works of stages do."""

    plan: Node
    numbered_from: int = 0


class RunOrder(NamedTuple):
    """The run to make: with which settings, and from which cursor on; `apart` if each item is to be sent by itself."""

    settings: Settings
    cursor: Cursor
    apart: bool = False


class HeldElsewhere(NamedTuple):
    """The bytes that one part of the run holds of its budget; see `core.budget.Account`."""

    name: str
    kind: HolderKind
    nbytes: int
    peak: int
    grows: bool


@frozen()
class RunFacts:
    """The facts about a run at one moment: those of `Session`, and what came up since the facts before.

    `outline` is `None` unless there are operations that were not told before.
    """

    mode: str
    ahead: int
    made_elsewhere: tuple[str, ...]
    has_threads: bool
    tuner: Tuner
    spent: Cost
    outline: Any
    counted: Any
    events: tuple[RunEvent, ...]
    notes: tuple[str, ...]
    held: tuple[HeldElsewhere, ...]
    live_bytes: int
    peak_bytes: int


class Reporter:
    """Teller of the facts about a run."""

    def __init__(self, run: Run, observer: Observer, memory: Memory) -> None:
        self._run = run
        self._observer = observer
        self._memory = memory
        self._operations = 0  # told so far
        self._due = 0

    def told_now_and_then(self) -> RunFacts | None:
        """Return the facts, unless they were told a moment ago."""
        now = monotonic_ns()
        if now < self._due:
            return None
        self._due = now + PAUSE
        return self.told()

    def told(self) -> RunFacts:
        """Return the facts."""
        run, session, budget, memory = self._run, self._run.session, self._run.budget, self._memory
        outline = self._observer.outline()
        is_new = outline is not None and len(outline) > self._operations
        self._operations = len(outline or ())
        held = [
            HeldElsewhere(each.name, each.kind, each.nbytes, each.peak, each.grows) for each in list(budget.accounts)
        ]
        events = tuple(session.events.popleft() for _ in range(len(session.events)))
        return RunFacts(
            mode=session.mode,
            ahead=run.pieces_ahead,
            made_elsewhere=tuple(session.made_elsewhere),
            has_threads=session.has_threads,
            tuner=run.tuner,
            spent=session.spent,
            outline=outline if is_new else None,
            counted=self._observer.drain(),
            events=events,
            notes=tuple(budget.said()),
            held=tuple(held),
            live_bytes=memory.live_bytes,
            peak_bytes=memory.peak_bytes,
        )
