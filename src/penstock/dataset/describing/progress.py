"""The progress of a pass as one line of a terminal, or as calls of a function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import perf_counter
from typing import TextIO, TypeAlias

OnProgress: TypeAlias = Callable[[int, int | None], object]
"""A function of the elements done and of all elements, if their number is known."""
TOLD_EVERY = 0.2  # seconds


class ProgressLine:
    """A line on a terminal that is written over again and again, and removed at the end."""

    def __init__(self, stream: TextIO, what: str) -> None:
        self._stream = stream
        self._what = what
        self._began = perf_counter()

    def __call__(self, done: int, total: int | None) -> None:
        """Show how many elements are done."""
        seconds = perf_counter() - self._began
        share = "" if not total else f" of {total:,} ({100 * done / total:.0f} %)"
        rate = f", {done / seconds:,.0f}/s" if seconds else ""
        left = f", {(total - done) * seconds / done:,.0f} s left" if total and done else ""
        self._stream.write(f"\r\x1b[2K{self._what}: {done:,}{share}{rate}{left}")
        self._stream.flush()

    def close(self) -> None:
        """Remove the line."""
        self._stream.write("\r\x1b[2K")
        self._stream.flush()


class Pacer:
    """Calls a function now and then, and once at the end."""

    def __init__(self, progress: OnProgress | None, total: int | None) -> None:
        self._progress = progress
        self._total = total
        self._due = perf_counter() + TOLD_EVERY

    def note(self, done: int, now: float) -> None:
        """Tell the function, if that is due."""
        if self._progress is not None and now >= self._due:
            self._due = now + TOLD_EVERY
            self._progress(done, self._total)

    def finish(self, done: int) -> None:
        """Tell the function of the end."""
        if self._progress is not None:
            self._progress(done, self._total)

    def close(self) -> None:
        """Remove the line, if it is one."""
        if isinstance(self._progress, ProgressLine):
            self._progress.close()


def progress_of(asked: bool | OnProgress | None, what: str) -> OnProgress | None:
    """Return the function that shows progress: the one passed, or by default a line if stderr is a terminal."""
    if callable(asked):
        return asked
    stream = sys.stderr
    if stream is None or asked is False or (asked is None and not stream.isatty()):
        return None
    return ProgressLine(stream, what)
