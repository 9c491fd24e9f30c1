"""Distinguish Penstock's own code from the user's, and warn of lines of the latter."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from itertools import islice
from types import CodeType, FrameType, TracebackType
from typing import Any, NamedTuple

from penstock.core.errors import PenstockError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_CAUSES = 32  # of an error that are looked at


def is_ours(file: str) -> bool:
    """Return whether a source file, as a frame names it, is part of Penstock.

    >>> is_ours(__file__), is_ours("train.py")
    (True, False)
    """
    return file.startswith(_PACKAGE)


class WorkerTraceback(Exception):  # noqa: N818 - a text to show, which nobody raises
    """The traceback of an exception in another process, as text without the message; its last cause here."""

    def __str__(self) -> str:
        return f'\n"""\n{self.args[0]}"""'


def without_our_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the first frame outside Penstock on.

    If there is no such frame, return all of it; of an error that Penstock raises on purpose, or that another process
    has raised, the innermost frame.
    """
    innermost = own = error.__traceback__
    while own is not None and is_ours(own.tb_frame.f_code.co_filename):
        innermost, own = own, own.tb_next
    if own is not None:
        return own
    is_meant = isinstance(error, PenstockError) or any(isinstance(cause, WorkerTraceback) for cause in _causes(error))
    return innermost if is_meant else error.__traceback__


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the causes of an error, few if they form a ring."""
    for _ in range(_MOST_CAUSES):
        if error.__cause__ is None:
            return
        error = error.__cause__
        yield error


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
    warnings.warn_explicit(warning, type(warning), line.file, line.number, line.module, shown_in(line.module))


def shown_in(module: str) -> dict[Any, Any]:
    """Return Python's record of the warnings shown of a module, once for a line and text; else of the main one."""
    loaded = sys.modules.get(module) or sys.modules["__main__"]
    return vars(loaded).setdefault("__warningregistry__", {})
