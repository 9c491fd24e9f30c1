"""Lines below the cursor of a terminal, drawn again in place, while others print above them."""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, TextIO

from penstock.watch.live.view import Style

WIDTH_OF_FILES = 120  # columns
REDRAW_PAUSE = 0.05  # seconds between two prints after which the lines are shown again at once
LEFT_ROWS = 2  # of the terminal, above the lines
BLOCK_CHARACTERS = "█░·"


class Screen:
    """The lines at the end of a terminal.

    The cursor stays where the others print, above the lines, so a print writes over nothing but the lines; those are
    erased before it if it is by `sys.stdout` or `sys.stderr`, which are replaced while lines are shown, also in the
    handlers of loggers.
    """

    def __init__(self, stream: TextIO, lock: Any = None) -> None:
        self.stream = stream
        self.moving = is_moving(stream)
        """True if lines can be drawn again there."""
        self.style = Style(self.moving and not os.environ.get("NO_COLOR"), _has_blocks(stream))
        self.lock = lock or threading.RLock()
        self.process = os.getpid()
        self.at_margin = True
        """True if the last text printed ended a line."""
        self._shown: list[str] = []
        self._last: list[str] = []  # shown before a print
        self._drawn_at = 0.0
        self._replaced: dict[str, tuple[Any, _Above]] = {}

    @property
    def width(self) -> int:
        """The columns of a line that the terminal does not wrap."""
        return max(_size_of(self.stream)[0] - 1, 1)

    def draw(self, lines: list[str]) -> None:
        """Show these lines instead of those before."""
        with self.lock:
            lines = lines[: max(_size_of(self.stream)[1] - LEFT_ROWS, 1)]
            if lines == self._shown:
                return
            if not lines:
                self.erase()
                return
            self._replace()
            below = "\r\n".join(lines)
            # room below, then back up; the lines; and back to where the cursor was, whose line may be of older lines
            rest = "\x1b[J" if self.at_margin else ""
            self._write(rest + "\x1bD" * len(lines) + f"\x1b[{len(lines)}A\x1b7\r\n\x1b[J{below}\x1b8")
            self._shown = self._last = lines
            self._drawn_at = monotonic()

    def erase(self) -> None:
        """Remove the lines."""
        with self.lock:
            if self._shown:
                self._shown = []
                self._write("\x1b7\r\n\x1b[J\x1b8")

    def say(self, text: str) -> None:
        """Print a line that stays, above the others."""
        with self.lock:
            self.erase()
            self._write(f"{'' if self.at_margin else os.linesep}{text}\n")
            self.at_margin = True

    def close(self) -> None:
        """Remove the lines, and give the standard streams back."""
        with self.lock:
            self.erase()
            self.give_back()

    def give_back(self) -> None:
        """Give the standard streams back, without a change of the terminal."""
        with self.lock:
            for name, (stream, above) in self._replaced.items():
                if getattr(sys, name) is above:
                    setattr(sys, name, stream)
                _hand_to_loggers(above, stream)
            self._replaced, self._last = {}, []

    def around(self, text: str, write: Callable[[str], int]) -> int:
        """Remove the lines, print a text above them, and show them again unless there are many prints."""
        with self.lock:
            self.erase()
            count = write(text)
            if text:
                self.at_margin = text.endswith("\n")
            if self.at_margin and monotonic() >= self._drawn_at + REDRAW_PAUSE:
                self.draw(self._last)
            return count

    def _replace(self) -> None:
        for name in ("stdout", "stderr"):
            stream = getattr(sys, name)
            if name not in self._replaced and is_moving(stream) and not isinstance(stream, _Above):
                above = _Above(stream, self)
                self._replaced[name] = stream, above
                setattr(sys, name, above)
                _hand_to_loggers(stream, above)

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class _Above:
    """A standard stream whose text comes above the lines of a screen."""

    def __init__(self, stream: TextIO, screen: Screen) -> None:
        self.stream = stream
        self._screen = screen

    def write(self, text: str) -> int:
        """Print a text."""
        if self._screen.process != os.getpid():  # a forked child has no lines, and not the lock either
            return self.stream.write(text)
        return self._screen.around(text, self.stream.write)

    def writelines(self, lines: Any) -> None:
        """Print several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def _hand_to_loggers(before: Any, now: Any) -> None:
    """Let the handlers of all loggers that write to one stream write to another.

    The lock of a handler is left alone, since whoever has it may wait for the screen's.
    """
    loggers = [logging.root, *list(logging.root.manager.loggerDict.values())]
    for handler in [each for logger in loggers for each in getattr(logger, "handlers", ())]:
        if vars(handler).get("stream") is before:  # others, such as `logging.lastResort`, look up the stream each time
            handler.stream = now


def without_screen(stream: Any) -> TextIO:
    """Return the stream itself, if a screen has replaced it."""
    return stream.stream if isinstance(stream, _Above) else stream


def is_moving(stream: Any) -> bool:
    """Return whether lines of a stream can be drawn again: not in files, pipes and notebooks."""
    isatty = getattr(stream, "isatty", None)
    try:
        return isatty is not None and isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # closed
        return False


def _size_of(stream: Any) -> tuple[int, int]:
    """Return the columns and rows of a terminal."""
    try:
        columns, rows = os.get_terminal_size(stream.fileno())
    except (AttributeError, OSError, ValueError):  # no file, as in tests
        columns, rows = 0, 0
    default = shutil.get_terminal_size((WIDTH_OF_FILES + 1, 24))
    return columns or default.columns, rows or default.lines


def _has_blocks(stream: Any) -> bool:
    try:
        BLOCK_CHARACTERS.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True
