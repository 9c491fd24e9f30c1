"""Repeating is the identity on rows."""

from __future__ import annotations

import numpy as np

from penstock.index.repeated import repeated


def test_rows_equal_those_of_the_input() -> None:
    rows = np.array([7, 0, 3])
    assert repeated(rows) is rows
