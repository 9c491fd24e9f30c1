"""Distinguish Penstock's own code from the user's, and warn of lines of the latter."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType
from typing import NamedTuple

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
