"""A progress line on the terminal."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

_PATIENCE = 1.0  # seconds before anything is shown
_INTERVAL = 0.1  # seconds between two lines


class Progress:
    """The progress of work on `total` bytes, as a line on `stream` if that is a terminal.

    Work of less than a second shows nothing. `advance` may be called from any thread.

    >>> with Progress("indexing", 100) as progress:
    ...     progress.advance(100)
    """

    def __init__(self, title: str, total: int, stream: TextIO | None = None) -> None:
        self._title = title
        self._total = max(total, 1)
        self._stream = sys.stderr if stream is None else stream
        self._shows = self._stream is not None and self._stream.isatty()
        self._lock = threading.Lock()
        self._done = 0
        self._began = time.monotonic()
        self._next = self._began + _PATIENCE
        self._width = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()

    def advance(self, count: int) -> None:
        """Record that `count` more bytes are done."""
        with self._lock:
            self._done += count
            now = time.monotonic()
            if self._shows and now >= self._next:
                self._next = now + _INTERVAL
                self._show(now - self._began)

    def _show(self, elapsed: float) -> None:
        share = min(self._done / self._total, 1.0)
        left = elapsed / share - elapsed if share else 0.0
        line = f"{self._title}: {share:4.0%} of {self._total / 1e9:,.1f} GB, {left:,.0f} s to go"
        self._stream.write("\r" + line.ljust(self._width))
        self._stream.flush()
        self._width = len(line)
