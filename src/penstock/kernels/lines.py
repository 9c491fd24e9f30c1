"""The scan for the lines of a file; `reference.lines` is the twin."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.kernels.records import open_scanner, run_scan

MARK = b"\xef\xbb\xbf"
"""UTF-8's byte order mark, which identifies a file and belongs to no line."""
_END = 1


class Wanted(IntEnum):
    """The kinds of lines that count: all, nonempty lines, or lines with more than spaces and tabs."""

    ALL = 0
    NOT_EMPTY = 1
    NOT_BLANK = 2


def scan_lines(
    path: str, wanted: Wanted = Wanted.ALL, *, seen: Callable[[int], None] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Return the begin of each line of a file and the end of the last, `int64[n + 1]`, and the excluded lines.

    A line ends after `\n`, or with the file; a UTF-8 byte order mark at the beginning is left out. Excluded lines are
    within the range of the line before them; their numbers, from 0, are `int64`. `seen` is called with each position.
    """
    scanner = open_scanner(path)
    with open(path, "rb") as file:
        start = len(MARK) if file.read(len(MARK)) == MARK else 0

    def scan(position: int, begins: Rows) -> tuple[int, int, int]:
        return scanner.lines(max(position, start), begins, wanted)

    parts, status, position = run_scan(scan, seen)
    if status != _END:
        raise DataError(f"{path}: the file was cut short, or became unreadable, while it was read")
    end = np.array([position], np.int64)
    marked = [np.flatnonzero(part < 0) for part in parts]  # excluded lines
    if not any(map(len, marked)):
        return np.concatenate([*parts, end]), np.empty(0, np.int64)
    starts = np.cumsum([0, *map(len, parts)])
    left_out = np.concatenate([lines + start for lines, start in zip(marked, starts, strict=False)])
    return np.concatenate([*(part[part >= 0] for part in parts), end]), left_out
