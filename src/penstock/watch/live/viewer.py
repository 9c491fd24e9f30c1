"""The viewer that shows a run on a terminal while it is under way."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from penstock.watch.live.display import Display, display
from penstock.watch.live.view import Glance, Style, last_line_of, line_of, lines_of_run
from penstock.watch.viewers import NEVER

if TYPE_CHECKING:
    from penstock.watch.stats import Stats
    from penstock.watch.trace.spans import Span
    from penstock.watch.viewers import Moment

RECENT_SECONDS = 10.0  # seconds that rates are of
IDLE_AFTER = 30.0  # seconds of one step, after which nothing is shown until the next item


class LiveViewer:
    """A view of one pass: one line, or with `details` several, and at the end a line that stays if `leave` is true."""

    def __init__(
        self,
        glance: Callable[[], Glance | None],
        title: str = "",
        *,
        details: bool = True,
        leave: bool = True,
        stream: TextIO | None = None,
        on: Display = display,
    ) -> None:
        """Show what `glance()` returns, which is `None` while the pass has not begun."""
        if not isinstance(title, str):
            raise TypeError(f"live(): the title must be a string, not {title!r:.60}")
        if stream is not None and not callable(getattr(stream, "write", None)):
            raise TypeError(f"live(file=): expected an open text file, not {stream!r:.60}")
        self._glance = glance
        self._title = title
        self._details = details
        self._leave = leave
        self._on = on
        self._recent: deque[Glance] = deque()
        self._last: Glance | None = None
        self._items, self._moved = -1, 0.0  # the last number of items, and the time at which it changed
        on.add(self, sys.stderr if stream is None else stream)

    due = NEVER
    """No look is needed: a thread reads the counts, also while no items arrive."""

    def look(self, moment: Moment, spans: list[Span]) -> None:
        """Do nothing."""

    def close(self, last: Stats | None, spans: list[Span]) -> None:
        """Show the pass no more."""
        seen = self._glance() or self._last
        self._on.remove(self, last_line_of(self._title, seen) if self._leave and seen is not None else "")

    def lines(self, width: int, style: Style) -> list[str]:
        """Return the lines of this moment."""
        now = self._seen()
        if now is None or self._is_idle(now):
            return []
        before = self._recent[0] if len(self._recent) > 1 else None
        if self._details:
            return lines_of_run(self._title, now, before, width, style)
        return [line_of(self._title, now, before, width, style)]

    def line(self, width: int) -> str:
        """Return one line of this moment."""
        now = self._seen()
        if now is None or self._is_idle(now):
            return ""
        return line_of(self._title, now, self._recent[0] if len(self._recent) > 1 else None, width, Style())

    def _seen(self) -> Glance | None:
        """Return the counts of this moment, and forget those that are no longer recent."""
        now = self._glance()
        if now is None:
            return None
        if self._last is not None and now.stats.items < self._last.stats.items:  # a state was loaded
            self._recent.clear()
        self._last = now
        self._recent.append(now)
        while len(self._recent) > 2 and self._recent[1].stats.seconds <= now.stats.seconds - RECENT_SECONDS:
            self._recent.popleft()
        return now

    def _is_idle(self, now: Glance) -> bool:
        """Return whether the consumer neither waits nor has taken an item for long."""
        if now.waiting or now.stats.items != self._items:
            self._items, self._moved = now.stats.items, now.stats.seconds
        return now.stats.seconds - self._moved > IDLE_AFTER
