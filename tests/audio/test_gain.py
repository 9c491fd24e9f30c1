"""Gain is in decibels, and even between its bounds."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import audio
from penstock.core.seeds import row_generator


def test_gain_is_uniform_in_decibels():
    op = audio.random_gain(-6, 12)
    levels = [20 * np.log10(op(np.ones(1, np.float32), rng=row_generator(1, row))[0]) for row in range(300)]
    assert -6 <= min(levels) < -5
    assert 11 < max(levels) <= 12.001
    assert 2 < np.mean(levels) < 4


def test_the_result_is_float32_of_the_same_shape():
    found = audio.random_gain(6, 6)(np.ones((3, 2), np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.full((3, 2), 10**0.3), rtol=1e-6)


@pytest.mark.parametrize("bounds", [(1, 0), (0, float("inf")), (float("nan"), 1), (0, 300)])
def test_wrong_bounds_are_refused(bounds):
    with pytest.raises(ValueError, match="random_gain"):
        audio.random_gain(*bounds)
