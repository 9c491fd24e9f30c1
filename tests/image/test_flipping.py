"""Flips mirror the columns with the requested probability."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import image
from penstock.core.seeds import row_generator
from tests.image.photos import picture

PHOTO = picture(5, 7)


def test_probabilities_1_and_0_always_and_never_flip() -> None:
    np.testing.assert_array_equal(image.random_flip(1)(PHOTO), PHOTO[:, ::-1])
    np.testing.assert_array_equal(image.random_flip(0)(PHOTO), PHOTO)


def test_half_of_the_rows_are_flipped() -> None:
    flipped = [np.array_equal(image.random_flip()(PHOTO, rng=row_generator(2, r)), PHOTO[:, ::-1]) for r in range(400)]
    assert 150 < sum(flipped) < 250


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_invalid_probabilities_are_refused(p) -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        image.random_flip(p)


def test_values_that_are_no_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="expected a number"):
        image.random_flip("half")
