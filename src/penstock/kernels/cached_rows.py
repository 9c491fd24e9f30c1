"""Rows of a cache on disk, copied out of mapped files and verified; `reference.cached_rows` is the twin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import _native

LOG_RECORD = np.dtype([
    ("row", "<i8"), ("offset", "<i8"), ("length", "<u4"), ("form", "<u4"), ("crc", "<u4"), ("own", "<u4"),
])  # fmt: skip
"""A record of a log: the place of one row in the data; `own` is the CRC-32C of what comes before it in the record."""
VERIFIED = np.uint64(1 << 63)
"""The bit of an entry whose row this process has verified before."""
ANY_LENGTH = -1


def look_up_rows(table: NDArray[np.uint64], rows: Rows) -> tuple[NDArray[np.uint64], int, int, int]:
    """Return the entry of each row in a table, 0 for a row outside; and what these entries are.

    That is the number of rows missing (their entry is 0), the number that this process has not verified, and the form
    of all rows that are there, or -1 if they have several, or none is there.

    >>> look_up_rows(np.array([5, 0, 1 << 52 | 7], np.uint64), np.array([2, 1, 9]))
    (array([4503599627370503,                0,                0], dtype=uint64), 2, 1, 1)
    """
    entries = np.empty(len(rows), np.uint64)
    missing, unverified, form = _native.look_up_rows(table, rows, entries)
    return entries, missing, unverified, form


def copy_cached_rows(
    entries: NDArray[np.uint64],
    rows: Rows,
    logs: tuple[list[Any], list[Any]],
    length: int,
    parts: Sequence[tuple[int, NDArray[Any]]],
    spans: Rows | None = None,
) -> tuple[NDArray[np.bool_], int]:
    """Copy parts of each row to arrays, and return which rows are sound, `bool[k]`, and how many are not.

    `logs` are the records and the data of each writer, as two lists of arrays. From the lowest bit, an entry has the
    number of the record in its log, from 1 (32 bits), the number of the log (20), the number of the form (11), and
    whether this process has verified the row (`VERIFIED`). For each part, the bytes of row i from `start` on go to
    `array[i]`. A row is sound if its record names it and has this `length` (or `ANY_LENGTH`), its bytes are in the
    data, and, unless its entry is `VERIFIED`, both have their checksums. `spans`, `int64[k, 2]`, receives the offset
    and length of each sound row.

    >>> record = np.zeros(1, LOG_RECORD)
    >>> record["length"], record["crc"] = 3, 0x364B3FB7  # of b"abc"
    >>> record["own"] = crc32c_rows(record.view(np.uint8).reshape(1, 32), 28)
    >>> out, entry = np.zeros((1, 2), np.uint8), np.ones(1, np.uint64)
    >>> data = np.frombuffer(b"abc", np.uint8)
    >>> copy_cached_rows(entry, np.zeros(1, np.int64), ([record], [data]), 3, [(1, out)])
    (array([ True]), 0)
    >>> out.tobytes()
    b'bc'
    """
    records, data = logs
    ok = np.empty(len(rows), np.bool_)
    starts, outs = [start for start, _ in parts], [out for _, out in parts]
    bad = _native.copy_cached_rows(entries, rows, records, data, length, starts, outs, spans, ok)
    return ok, bad


def crc32c_rows(rows: NDArray[np.uint8], length: int, before: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
    """Return the CRC-32C of the first `length` bytes of each row of a C-contiguous array, `uint8[k, width]`.

    With `before`, the checksum of the bytes before those of each row, `uint32[k]`, return that of all of them.

    >>> rows = np.frombuffer(b"abcdabcd", np.uint8).reshape(2, 4)
    >>> crc32c_rows(rows, 3).tolist() == [0x364B3FB7] * 2
    True
    >>> np.array_equal(crc32c_rows(rows, 4), crc32c_rows(rows[:, 3:].copy(), 1, crc32c_rows(rows, 3)))
    True
    """
    out = np.zeros(len(rows), np.uint32) if before is None else before.astype(np.uint32)
    _native.crc32c_rows(rows, length, out)
    return out
