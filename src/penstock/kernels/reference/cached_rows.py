"""Rows of a cache in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels.reference.records import crc32c

_RECORD = np.dtype("<i8,<i8,<u4,<u4,<u4,<u4")  # row, offset, length, form, CRC-32C of the data and of the record


def look_up_rows(table: NDArray[np.uint64], rows: Rows) -> tuple[NDArray[np.uint64], int, int, int]:
    """Return the entry of each row, how many are missing, how many not verified, and the form of all or -1."""
    entries = np.array([int(table[row]) if 0 <= row < len(table) else 0 for row in rows], np.uint64)
    there = [int(entry) for entry in entries if entry]
    forms = {entry >> 52 & 0x7FF for entry in there}
    unverified = sum(not entry >> 63 for entry in there)
    return entries, len(rows) - len(there), unverified, forms.pop() if len(forms) == 1 else -1


def copy_cached_rows(
    entries: NDArray[np.uint64],
    rows: Rows,
    logs: tuple[list[Any], list[Any]],
    length: int,
    parts: list[tuple[int, NDArray[Any]]],
    spans: Rows | None = None,
) -> tuple[NDArray[np.bool_], int]:
    """Copy parts of each row to arrays; return which rows are sound, and how many are not."""
    ok = np.zeros(len(rows), np.bool_)
    for i, (entry, row) in enumerate(zip(entries.tolist(), rows.tolist(), strict=True)):
        found = _found(entry, row, logs, length)
        if found is None:
            continue
        offset, content = found
        widths = [out[i].nbytes for _, out in parts]
        if any(start + width > len(content) for (start, _), width in zip(parts, widths, strict=True)):
            continue
        for (start, out), width in zip(parts, widths, strict=True):
            out.reshape(len(rows), -1)[i] = np.frombuffer(content[start : start + width], out.dtype)
        if spans is not None:
            spans[i] = offset, len(content)
        ok[i] = True
    return ok, int((~ok).sum())


def _found(entry: int, row: int, logs: tuple[list[Any], list[Any]], length: int) -> tuple[int, bytes] | None:
    """Return the offset and the bytes of a row, if it is sound."""
    number, at = entry >> 32 & 0xFFFFF, (entry & 0xFFFFFFFF) - 1
    if number >= len(logs[0]) or logs[0][number] is None or at < 0:
        return None
    log, data = logs[0][number].tobytes(), b"" if logs[1][number] is None else logs[1][number].tobytes()
    record = log[32 * at : 32 * at + 32]
    if len(record) < 32:
        return None
    its_row, offset, size, _, crc, own = np.frombuffer(record, _RECORD)[0].tolist()
    content = data[offset : offset + size] if offset >= 0 else b""
    if its_row != row or offset < 0 or len(content) != size or length not in (-1, size):
        return None
    is_sound = entry >> 63 or (crc32c(content) == crc and crc32c(record[:28]) == own)
    return (offset, content) if is_sound else None


def crc32c_rows(rows: NDArray[np.uint8], length: int, before: NDArray[np.uint32] | None = None) -> NDArray[np.uint32]:
    """Return the CRC-32C of the first `length` bytes of each row, after bytes with the checksums `before`."""
    begun = [0] * len(rows) if before is None else before.tolist()
    return np.array([crc32c(row[:length].tobytes(), crc) for row, crc in zip(rows, begun, strict=True)], np.uint32)
