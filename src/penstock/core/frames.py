"""Distinguish Penstock's own code from the user's, and warn of lines of the latter."""

from __future__ import annotations

import os
import sys
import warnings
from itertools import islice
from types import CodeType, FrameType
from typing import Any, NamedTuple

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def is_ours(file: str) -> bool:
    """Return whether a source file, as a frame names it, is part of Penstock.

    >>> is_ours(__file__), is_ours("train.py")
    (True, False)
    """
    return file.startswith(_PACKAGE)


def frame_of_user() -> FrameType:
    """Return the innermost frame outside Penstock; in a thread of Penstock, the one that began the thread."""
    frame = sys._getframe(1)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the cheapest way to the line
    while frame.f_back is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


class Place(NamedTuple):
    """A line of the user's code, the names of its module, and the instruction that is executed there."""

    code: CodeType
    line: int
    names: dict[str, Any]
    instruction: int = -1

    @property
    def end(self) -> tuple[int, int] | None:
        """The line and column (in bytes) at which the call ends that is executed; `None` if the code does not tell."""
        if self.instruction < 0:
            return None
        at = next(islice(self.code.co_positions(), self.instruction // 2, None), None)
        _, line, _, column = at or (None,) * 4
        return None if line is None or column is None else (line, column)

    def __str__(self) -> str:
        return f"{shown_path(self.code.co_filename)}:{self.line}"


def shown_path(path: str) -> str:
    """Return the path of a file as a user finds it: from the working directory on, if it is in there.

    >>> shown_path(os.path.abspath("train.py")), shown_path("<stdin>")
    ('train.py', '<stdin>')
    """
    begin = os.getcwd() + os.sep
    return path.removeprefix(begin)


def place_of_user() -> Place:
    """Return the innermost place outside Penstock that is being executed."""
    frame = frame_of_user()
    return Place(frame.f_code, frame.f_lineno, frame.f_globals, frame.f_lasti)


class CodeLine(NamedTuple):
    """A line of code outside Penstock: its file, number and module. It can be sent to another process."""

    file: str
    number: int
    module: str


def line_of_user() -> CodeLine:
    """Return the innermost line outside Penstock that is being executed."""
    frame = frame_of_user()
    return CodeLine(frame.f_code.co_filename, frame.f_lineno, str(frame.f_globals.get("__name__")))


def warn_at(at: CodeLine | None, warning: Warning) -> None:
    """Warn of a line; of none, of the innermost line outside Penstock."""
    line = line_of_user() if at is None else at
    module = sys.modules.get(line.module)
    shown = {} if module is None else vars(module).setdefault("__warningregistry__", {})  # once for a line and text
    warnings.warn_explicit(warning, type(warning), line.file, line.number, line.module, shown)
