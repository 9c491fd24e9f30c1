"""Where the records of CSV begin: quoted fields may hold line breaks, and quotes are only quotes at a field's start."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.kernels.records import ScanError
from penstock.storage.soundness import Arrays, are_in_order, are_offsets, are_within, has_form

_READ = 4 << 20  # bytes looked at at a time
_MORE = 1 << 12
_LF, _CR = 10, 13
NO_BLOCKS = dict.fromkeys(("offsets", "rows", "lines"), np.zeros(1, np.int64)) | {"head": np.zeros(2, np.int64)}
"""The index of a file without records."""
_MARK = b"\xef\xbb\xbf"  # what some programs begin UTF-8 with


@dataclass(frozen=True)
class Dialect:
    """How fields are kept apart: the delimiter, and the quote around fields that hold it, if any."""

    delimiter: str = ","
    quote: str | None = '"'


class Ends(NamedTuple):
    """The ends of lines in a stretch of a file, as positions after them in the file, and which end a record."""

    lines: NDArray[np.int64]
    records: NDArray[np.bool_]
    """Whether a line's end is one of a record too, `bool[k]`, and not within quotes."""
    empty: NDArray[np.bool_]
    """Whether there is nothing before it, so that it ends no row."""
    content: bytes
    """What was looked at, up to or beyond the last of them."""
    begin: int
    """Where that begins in the file."""


def index_of(path: str, dialect: Dialect, block_bytes: int, tell: Callable[[int], None]) -> dict[str, NDArray[Any]]:
    """Return where blocks of about `block_bytes` begin and where the last ends, with the rows and lines before each.

    `offsets`, `rows` and `lines` have shape `(m + 1,)`; `head` is where the first record that is not empty ends, and
    how many lines that takes. A quote that is never closed is a `ScanError` that names its line, with the index of the
    records before it.
    """
    blocks = _Blocks(block_bytes)
    failure: ScanError | None = None
    with open(path, "rb") as file:
        try:
            for ends in record_ends(file, path, dialect, tell):
                blocks.add(ends)
        except DataError as error:
            failure = ScanError(str(error))
    if failure is not None:
        failure.arrays = blocks.arrays()
        raise failure
    return blocks.arrays()


class _Blocks:
    """Where blocks begin, with the rows and lines before each, as records come."""

    def __init__(self, block_bytes: int) -> None:
        self._block_bytes = block_bytes
        self._offsets, self._rows, self._lines = [0], [0], [0]
        self._head: tuple[int, int] | None = None
        self._row = self._line = 0  # before what comes next
        self._end = (0, 0)  # of the last record, and the lines up to there

    def add(self, ends: Ends) -> None:
        """Take in the records that end in the next stretch of the file."""
        full = ends.records & ~ends.empty
        before = self._row + np.cumsum(full)  # rows up to each end
        if self._head is None and full.any():
            first = int(full.argmax())
            self._head = int(ends.lines[first]), self._line + first + 1
        cuts = np.flatnonzero(ends.records)
        positions = ends.lines[cuts]
        while (at := int(positions.searchsorted(self._offsets[-1] + self._block_bytes))) < len(cuts):
            cut = int(cuts[at])
            if before[cut] > self._rows[-1]:
                self._offsets.append(int(positions[at]))
                self._rows.append(int(before[cut]))
                self._lines.append(self._line + cut + 1)
            else:  # nothing but empty lines
                self._offsets[-1], self._lines[-1] = int(positions[at]), self._line + cut + 1
        if len(cuts):
            self._end = int(positions[-1]), self._line + int(cuts[-1]) + 1
            self._row = int(before[-1])
        self._line += len(ends.lines)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """The index of all records that have come."""
        is_open = self._row > self._rows[-1]  # the last block
        made = {
            "offsets": self._offsets + [self._end[0]] * is_open,
            "rows": self._rows + [self._row] * is_open,
            "lines": self._lines + [self._end[1]] * is_open,
            "head": self._head or (0, 0),
        }
        return {name: np.array(values, np.int64) for name, values in made.items()}


def has_blocks(arrays: Arrays, size: int) -> bool:
    """Whether an index is one that `index_of` makes."""
    if not are_offsets(arrays, size, "offsets", "rows", "lines") or not has_form(arrays, np.int64, {"head": (2,)}):
        return False
    offsets, rows, lines, head = (arrays[name] for name in ("offsets", "rows", "lines", "head"))
    rows_follow = rows[0] == 0 and are_in_order(rows[:-1], rows[1:], strictly=True)
    head_fits = are_within(head, size) and (len(offsets) < 2 or offsets[0] <= head[0] <= offsets[1])
    return len(offsets) == len(rows) == len(lines) and rows_follow and bool(head_fits)


def record_ends(
    file: io.BufferedReader | io.BytesIO, path: str, dialect: Dialect, tell: Callable[[int], None]
) -> Iterator[Ends]:
    """Yield the ends of lines in a file, a stretch at a time; the end of the file ends what has no other end."""
    inside = False  # of quotes
    opened = (0, 0)  # where the last quote opened, and in which line
    previous = _LF  # the byte before: the beginning is as after a line
    start = lines = 0  # of the line, and before it
    head = file.read(len(_MARK))
    base = start = len(_MARK) if head == _MARK else 0
    head = b"" if base else head
    while content := head + file.read(_READ):
        head = b""
        content = _completed(content, file, dialect)
        data = np.frombuffer(content, np.uint8)
        toggles = _toggles(content, data, dialect, inside=inside, previous=previous)
        ends = _line_ends(data)
        failure: DataError | None = None
        if base + len(data) > start and (not len(ends) or ends[-1] != len(data)):
            try:
                head = file.read(1)  # of the next stretch; none at the end of the file, which ends the line
                ends = ends if head else np.append(ends, len(data))
            except DataError as error:
                failure = error
        odd = (toggles.searchsorted(ends, "left") + inside) % 2 == 1
        if len(toggles):
            inside ^= len(toggles) % 2 == 1
            last = int(toggles[-1])
            opened = (base + last, lines + int(ends.searchsorted(last, "right")) + 1) if inside else opened
        starts = np.concatenate([[start - base], ends[:-1]]) if len(ends) else ends
        if len(ends):
            start = base + int(ends[-1])
        lines += len(ends)
        yield Ends(ends + base, ~odd, _are_empty(data, starts, ends), content, base)
        if failure is not None:
            raise failure
        previous = int(data[-1])
        base += len(data)
        tell(base)
    if inside:
        raise DataError(f"{path}: the quote at byte {opened[0]:,}, in line {opened[1]:,}, is never closed")


def _completed(content: bytes, file: io.BufferedReader | io.BytesIO, dialect: Dialect) -> bytes:
    """A stretch that ends with neither half of a line's end nor half of two quotes, where there is more to read."""
    halves = b"\r" + (dialect.quote or "").encode()
    parts = [content]
    with suppress(DataError):  # which comes again with the next stretch
        while parts[-1][-1:] in (halves[:1], halves[1:2]) and parts[-1] and (more := file.read(_MORE)):
            parts.append(more)
    return b"".join(parts)


def _line_ends(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The positions after line feeds, returns, and both together."""
    returns = np.flatnonzero(data == _CR)
    feeds = np.flatnonzero(data == _LF)
    if len(returns):
        followed = returns[returns + 1 < len(data)]
        single = np.setdiff1d(returns, followed[data[followed + 1] == _LF])
        feeds = np.union1d(feeds, single)
    return feeds + 1


def _are_empty(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which lines have nothing before their end; one that began in an earlier stretch has something."""
    lengths = ends - starts
    last = data[ends - 1] if len(ends) else data[:0]
    breaks = (last == _LF) | (last == _CR)
    windows = (lengths == 2) & (last == _LF)
    windows[windows] = data[ends[windows] - 2] == _CR
    return ((lengths == 1) & breaks) | windows


def _toggles(
    content: bytes, data: NDArray[np.uint8], dialect: Dialect, *, inside: bool, previous: int
) -> NDArray[np.int64]:
    """The positions of quotes where quoted text begins or ends; two quotes within it end it and begin it again."""
    if dialect.quote is None:
        return np.empty(0, np.int64)
    quote, delimiter = ord(dialect.quote), ord(dialect.delimiter)
    quotes = np.flatnonzero(data == quote)
    opening = quotes[int(inside) :: 2]
    before = data[opening - 1]
    if len(opening) and opening[0] == 0:
        before[0] = previous
    begins = (before == delimiter) | (before == _LF) | (before == _CR)
    if bool((begins | (before == quote)).all()):  # where every other quote opens, as nearly everywhere
        return quotes
    return _one_by_one(data, quotes, delimiter, inside=inside, previous=previous)


def _one_by_one(
    data: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int, *, inside: bool, previous: int
) -> NDArray[np.int64]:
    """The same where some quotes are only characters: those that do not stand at the beginning of a field."""
    before = data[quotes - 1]
    if len(quotes) and quotes[0] == 0:
        before[0] = previous
    begins = ((before == delimiter) | (before == _LF) | (before == _CR)).tolist()
    positions = quotes.tolist()
    found: list[int] = []
    at = 0
    while at < len(positions):
        if not inside:
            inside = begins[at]
            if inside:
                found.append(positions[at])
        elif at + 1 < len(positions) and positions[at + 1] == positions[at] + 1:
            at += 1  # two quotes stand for one
        else:
            inside = False
            found.append(positions[at])
        at += 1
    return np.array(found, np.int64)
