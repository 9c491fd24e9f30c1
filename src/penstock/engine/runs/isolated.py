"""An isolated run as the engine sees it: another process makes the pieces, and tells facts about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from penstock.engine.cursors.cursor import Cursor
    from penstock.engine.runs.carry_over import CarryOver
    from penstock.engine.runs.session import Session
    from penstock.plan.flow import Flow
    from penstock.plan.node import Node


class IsolatedRun(Protocol):
    """A run that another process makes."""

    failed_at: int
    """The number of the item that failed."""
    is_begun: bool
    """True while a process makes the run, and tells when nothing moves."""

    def pieces(self) -> Flow:
        """Yield the pieces of the run in order."""
        ...


class ToldFacts(Protocol):
    """The facts that the process of an isolated run told last."""

    @property
    def mode(self) -> str: ...
    @property
    def ahead(self) -> int: ...


Isolate: TypeAlias = "Callable[[Session, Node, CarryOver, Callable[[], Cursor], str], IsolatedRun | None]"
"""Returns the run of a plan as another process makes it; `None`, with an event, if none can.

The arguments are the session, the plan, what runs pass on to the next, a function that returns the cursor from which
the next pieces count, and the unit of the items in words.
"""
