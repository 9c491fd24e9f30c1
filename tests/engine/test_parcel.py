from __future__ import annotations

import numpy as np
import pytest
from penstock.engine.parcel import Parcel
from penstock.engine.task import Cost, Listed


@pytest.mark.parametrize("pieces", [1, 2, 3, 7])
def test_pieces_share_the_rows_and_the_memory(pieces):
    parcel = Parcel(2, 3, np.arange(20, 27), pieces)
    parcel.memory = [np.zeros(7, np.int64), np.zeros((7, 2))]
    assert np.concatenate(parcel.rows).tolist() == list(range(20, 27))
    for piece, rows in enumerate(parcel.rows):
        parcel.memory_of(piece)[0][:] = rows
        assert parcel.memory_of(piece)[1].shape == (len(rows), 2)
    assert parcel.memory[0].tolist() == list(range(20, 27))


def test_it_fails_with_its_first_failed_piece():
    parcel = Parcel(0, 1, np.arange(6), 3)
    assert parcel.missing == 3
    first, second = ValueError("1"), ValueError("2")
    parcel.fill(2, second)
    parcel.fill(1, first)
    parcel.fill(0, Listed([], (0, Cost(0, 0))))
    assert parcel.missing == 0
    assert parcel.failure() is first
    assert parcel.items == 1
