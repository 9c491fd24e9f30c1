"""Find the records of CSV: quoted fields may hold line breaks, and quotes only count at the start of a field."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.kernels.records import ScanError
from penstock.storage.soundness import Arrays, are_in_order, are_offsets, are_within, has_form

_READ = 4 << 20  # bytes scanned at a time
_MORE = 1 << 12
_LF, _CR = 10, 13
NO_BLOCKS = dict.fromkeys(("offsets", "rows", "lines"), np.zeros(1, np.int64)) | {"head": np.zeros(2, np.int64)}
"""The index of a file without records."""
_MARK = b"\xef\xbb\xbf"  # some programs begin UTF-8 with this mark


@frozen()
class Dialect:
    """The delimiter between fields, and the quote around fields that hold one, if any."""

    delimiter: str = ","
    quote: str | None = '"'


class Ends(NamedTuple):
    """The ends of lines in a section of a file, as positions in the file, with those that end a record."""

    lines: NDArray[np.int64]
    records: NDArray[np.bool_]
    """Line ends that also end a record, `bool[k]`: those outside of quotes."""
    empty: NDArray[np.bool_]
    """Line ends of empty lines, which end no row, `bool[k]`."""
    content: bytes
    """The scanned bytes, up to or beyond the last line end."""
    begin: int
    """The position of `content` in the file."""


def index_of(path: str, dialect: Dialect, block_bytes: int, tell: Callable[[int], None]) -> dict[str, NDArray[Any]]:
    """Return the positions of blocks of about `block_bytes` and of the end, with the rows and lines before each.

    `offsets`, `rows` and `lines` have shape `(m + 1,)`; `head` has the end of the first record that is not empty, and
    the number of lines up to there. A quote that is never closed raises a `ScanError` that names its line, with the
    index of the records before it.
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
    """A collector of the positions of blocks, with the rows and lines before each."""

    def __init__(self, block_bytes: int) -> None:
        self._block_bytes = block_bytes
        self._offsets, self._rows, self._lines = [0], [0], [0]
        self._head: tuple[int, int] | None = None
        self._row = self._line = 0  # before the next record
        self._end = (0, 0)  # of the last record, and the lines up to there

    def add(self, ends: Ends) -> None:
        """Add the records that end in the next section of the file."""
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
            else:  # only empty lines
                self._offsets[-1], self._lines[-1] = int(positions[at]), self._line + cut + 1
        if len(cuts):
            self._end = int(positions[-1]), self._line + int(cuts[-1]) + 1
            self._row = int(before[-1])
        self._line += len(ends.lines)

    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """Return the index of all records added."""
        is_open = self._row > self._rows[-1]  # the last block
        made = {
            "offsets": self._offsets + [self._end[0]] * is_open,
            "rows": self._rows + [self._row] * is_open,
            "lines": self._lines + [self._end[1]] * is_open,
            "head": self._head or (0, 0),
        }
        return {name: np.array(values, np.int64) for name, values in made.items()}


def has_blocks(arrays: Arrays, size: int) -> bool:
    """Return whether an index is a possible result of `index_of`."""
    if not are_offsets(arrays, size, "offsets", "rows", "lines") or not has_form(arrays, np.int64, {"head": (2,)}):
        return False
    offsets, rows, lines, head = (arrays[name] for name in ("offsets", "rows", "lines", "head"))
    rows_follow = rows[0] == 0 and are_in_order(rows[:-1], rows[1:], strictly=True)
    head_fits = are_within(head, size) and (len(offsets) < 2 or offsets[0] <= head[0] <= offsets[1])
    return len(offsets) == len(rows) == len(lines) and rows_follow and bool(head_fits)


def record_ends(
    file: io.BufferedReader | io.BytesIO, path: str, dialect: Dialect, tell: Callable[[int], None]
) -> Iterator[Ends]:
    """Yield the line ends of a file, one section at a time; the end of the file also ends its last line."""
    inside = False  # of quotes
    opened = (0, 0)  # position and line of the last opening quote
    previous = _LF  # the byte before: a file begins as if after a line end
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
                head = file.read(1)  # of the next section; none at the end of the file, which ends the line
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
    """Return a section extended so that it does not end within a line end or a pair of quotes."""
    halves = b"\r" + (dialect.quote or "").encode()
    parts = [content]
    with suppress(DataError):  # the next read raises the error again
        while parts[-1][-1:] in (halves[:1], halves[1:2]) and parts[-1] and (more := file.read(_MORE)):
            parts.append(more)
    return b"".join(parts)


def _line_ends(data: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the positions after line feeds, returns, and pairs of both."""
    returns = np.flatnonzero(data == _CR)
    feeds = np.flatnonzero(data == _LF)
    if len(returns):
        followed = returns[returns + 1 < len(data)]
        single = np.setdiff1d(returns, followed[data[followed + 1] == _LF])
        feeds = np.union1d(feeds, single)
    return feeds + 1


def _are_empty(data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return a mask of the empty lines; a line that began in an earlier section is not empty."""
    lengths = ends - starts
    last = data[ends - 1] if len(ends) else data[:0]
    breaks = (last == _LF) | (last == _CR)
    windows = (lengths == 2) & (last == _LF)
    windows[windows] = data[ends[windows] - 2] == _CR
    return ((lengths == 1) & breaks) | windows


def _toggles(
    content: bytes, data: NDArray[np.uint8], dialect: Dialect, *, inside: bool, previous: int
) -> NDArray[np.int64]:
    """Return the positions of quotes that begin or end quoted text; a pair of quotes within it ends and begins it."""
    if dialect.quote is None:
        return np.empty(0, np.int64)
    quote, delimiter = ord(dialect.quote), ord(dialect.delimiter)
    quotes = np.flatnonzero(data == quote)
    opening = quotes[int(inside) :: 2]
    before = data[opening - 1]
    if len(opening) and opening[0] == 0:
        before[0] = previous
    begins = (before == delimiter) | (before == _LF) | (before == _CR)
    if bool((begins | (before == quote)).all()):  # nearly always: every other quote opens a field
        return quotes
    return _one_by_one(data, quotes, delimiter, inside=inside, previous=previous)


def _one_by_one(
    data: NDArray[np.uint8], quotes: NDArray[np.int64], delimiter: int, *, inside: bool, previous: int
) -> NDArray[np.int64]:
    """Return the same positions if some quotes, not at the beginning of a field, are plain characters."""
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
            at += 1  # a pair of quotes stands for one
        else:
            inside = False
            found.append(positions[at])
        at += 1
    return np.array(found, np.int64)
