"""Repeating is the identity on rows."""

from __future__ import annotations

import numpy as np

from penstock.index.repeated import repeated


def test_rows_are_their_inputs_rows() -> None:
    rows = np.array([7, 0, 3])
    assert repeated(rows) is rows
