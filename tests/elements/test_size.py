from __future__ import annotations

import numpy as np

from penstock.elements.size import bytes_of


def test_arrays_count_by_what_they_hold():
    assert bytes_of((np.zeros((2, 3), np.float32), {"n": np.int16(1)})) == 26


def test_other_objects_count_something():
    assert bytes_of(b"x" * 1000) >= 1000
    assert bytes_of({}) == 1
