"""Positions of the record batches of an Arrow IPC file, from its footer, for which pyarrow has no call."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_TAIL = 10  # bytes after the footer: its length, `int32`, and "ARROW1"
_RECORD_BATCHES = 3  # the field of the footer's table with the batches
_BLOCK = np.dtype({"names": ["offset", "head", "body"], "formats": ["<i8", "<i4", "<i8"], "offsets": [0, 8, 16]})


def batch_extents(content: NDArray[np.uint8]) -> list[tuple[int, int]]:
    """Return the begin and end of each record batch of a file, `uint8[size]`; none if the footer cannot be followed.

    The footer is a flatbuffer: its first word points to a table, the table to its fields, and the field of the record
    batches to a count and that many blocks of an offset and two lengths (Arrow's `format/File.fbs`).
    """
    try:
        end = len(content) - _TAIL
        footer = content[max(end - _word(content, end), 0) : end]
        table = _word(footer, 0)
        fields = table - _word(footer, table)
        entry = fields + 4 + 2 * _RECORD_BATCHES
        field = _half(footer, entry) if entry < fields + _half(footer, fields) else 0
        blocks = table + field
        blocks += _word(footer, blocks)
        found = footer[blocks + 4 : blocks + 4 + _word(footer, blocks) * _BLOCK.itemsize].view(_BLOCK)
    except (IndexError, ValueError):
        return []
    if not field:
        return []
    places = zip(*(found[name].tolist() for name in _BLOCK.fields or ()), strict=True)
    return [(at, at + head + body) for at, head, body in places]


def _word(data: NDArray[np.uint8], at: int) -> int:
    return int(_bytes(data, at, 4).view("<i4")[0])


def _half(data: NDArray[np.uint8], at: int) -> int:
    return int(_bytes(data, at, 2).view("<u2")[0])


def _bytes(data: NDArray[np.uint8], at: int, count: int) -> NDArray[np.uint8]:
    if not 0 <= at <= len(data) - count:
        raise IndexError(f"byte {at} of {len(data)}")
    return data[at : at + count]
