"""Columns that share memory."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.chunks.overlapping import do_overlap

COLUMN = np.zeros((4, 6))


@pytest.mark.parametrize(
    ("columns", "overlap"),
    [
        ([], False),
        ([COLUMN], False),
        ([COLUMN, COLUMN], True),
        ([COLUMN, COLUMN.copy(), [1, 2]], False),
        ([COLUMN[:2], COLUMN[2:]], False),
        ([COLUMN[2:], COLUMN[:3]], True),
        ([COLUMN[::-1], COLUMN[:1]], True),
        ([COLUMN[1::-1], COLUMN[2:]], False),
        ([COLUMN[3], COLUMN.copy(), COLUMN.T], True),
        ([COLUMN[:0], COLUMN], False),
    ],
)
def test_arrays_overlap_if_they_have_bytes_in_common(columns, overlap):
    assert do_overlap(columns) == overlap
