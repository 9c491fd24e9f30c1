"""Philox4x64-10 in Python integers (Salmon et al. 2011)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows

_WORD = (1 << 64) - 1


def first_draws(key: int, rows: Rows) -> NDArray[np.uint64]:
    """Return for each row the first 64-bit draw of Philox4x64-10 with key `(key, row)`; shapes `(k,)`."""
    return np.array([_first_draw(key, row) for row in (rows.astype(np.uint64)).tolist()], np.uint64)


def _first_draw(key: int, row: int) -> int:
    c0, c1, c2, c3 = 1, 0, 0, 0  # NumPy counts before it draws
    for _ in range(10):
        a, b = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (b >> 64) ^ c1 ^ key, b & _WORD, (a >> 64) ^ c3 ^ row, a & _WORD
        key, row = (key + 0x9E3779B97F4A7C15) & _WORD, (row + 0xBB67AE8584CAA73B) & _WORD
    return c0
