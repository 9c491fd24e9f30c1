from __future__ import annotations

import numpy as np

from penstock.elements.size import bytes_of, own_bytes_of


def test_arrays_count_by_what_they_hold():
    assert bytes_of((np.zeros((2, 3), np.float32), {"n": np.int16(1)})) == 26


def test_other_objects_count_something():
    assert bytes_of(b"x" * 1000) >= 1000
    assert bytes_of({}) == 1


def test_views_of_what_somebody_else_holds_count_nothing():
    view = np.zeros(3)
    view.flags.writeable = False
    assert own_bytes_of(view) == 0
    assert own_bytes_of({"view": view, "own": np.zeros(2, np.uint8)}) == 2
    assert own_bytes_of((view, 5)) == own_bytes_of(5) > 0
