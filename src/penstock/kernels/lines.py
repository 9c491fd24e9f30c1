"""The scan that finds where the lines of a file begin; `reference.lines` is the twin."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.kernels.records import open_scanner, run_scan

MARK = b"\xef\xbb\xbf"
"""UTF-8's byte order mark: it says what a file is, and belongs to no line."""
_END = 1


class Wanted(IntEnum):
    """Which lines count: all, those that are not empty, those with more in them than spaces and tabs."""

    ALL = 0
    NOT_EMPTY = 1
    NOT_BLANK = 2


def scan_lines(
    path: str, wanted: Wanted = Wanted.ALL, *, seen: Callable[[int], None] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""Return where each line of a file begins and the last ends, `int64[n + 1]`, and which lines are not among them.

    A line ends after `\n`, or with the file; a UTF-8 byte order mark at the beginning is left out. Lines that are not
    wanted lie within what comes before them; their numbers, from 0, are `int64`. `seen` is told of each position.
    """
    scanner = open_scanner(path)
    with open(path, "rb") as file:
        start = len(MARK) if file.read(len(MARK)) == MARK else 0

    def scan(position: int, begins: Rows) -> tuple[int, int, int]:
        return scanner.lines(max(position, start), begins, wanted)

    parts, status, position = run_scan(scan, seen)
    if status != _END:
        raise DataError(f"{path}: the file was cut short, or could not be read any more, while it was read")
    end = np.array([position], np.int64)
    marked = [np.flatnonzero(part < 0) for part in parts]  # those that are not wanted
    if not any(map(len, marked)):
        return np.concatenate([*parts, end]), np.empty(0, np.int64)
    starts = np.cumsum([0, *map(len, parts)])
    left_out = np.concatenate([lines + start for lines, start in zip(marked, starts, strict=False)])
    return np.concatenate([*(part[part >= 0] for part in parts), end]), left_out
