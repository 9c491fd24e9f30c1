"""The first draw of a row: native, twin and NumPy agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import kernels
from penstock.core.seeds import row_generator
from penstock.kernels.reference import random as twin


@given(key=st.integers(0, (1 << 64) - 1), rows=st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=5))
def test_first_draws_are_those_of_the_rows_generators(key: int, rows: list[int]) -> None:
    expected = [int(row_generator(key, row).bit_generator.random_raw()) for row in rows]
    assert kernels.first_draws(key, np.array(rows, np.int64)).tolist() == expected
    assert twin.first_draws(key, np.array(rows, np.int64)).tolist() == expected


def test_rows_of_another_dtype_are_refused() -> None:
    with pytest.raises(TypeError, match="int64"):
        kernels.first_draws(1, np.zeros(3, np.int32))
