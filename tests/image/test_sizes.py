"""Sizes are checked in one wording."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.image.sizes import MAX_PIXELS, check_fits, check_size, sized


def test_a_size_is_a_number_or_a_pair() -> None:
    assert check_size("resize", 3) == (3, 3)
    assert check_size("resize", (3, np.int64(4))) == (3, 4)
    assert check_size("resize", [3, 4]) == (3, 4)
    assert check_size("resize", (1, MAX_PIXELS)) == (1, MAX_PIXELS)


@pytest.mark.parametrize("size", [0, -1, (0, 3), (1, 2, 3), (), (1, MAX_PIXELS + 1)])
def test_invalid_sizes_name_the_call(size) -> None:
    with pytest.raises(ValueError, match=r"^resize\(size="):
        check_size("resize", size)


@pytest.mark.parametrize("size", [1.5, "3", None, True, (1, 2.0)])
def test_sizes_must_be_whole_numbers(size) -> None:
    with pytest.raises(TypeError, match=r"^resize\(size=.*expected a whole number"):
        check_size("resize", size)


def test_a_box_fits_up_to_the_edge() -> None:
    check_fits("crop", (3, 4), (5, 6), (2, 2))
    for at in ((3, 2), (2, 3)):
        with pytest.raises(ElementError, match="does not fit into an image of 5x6"):
            check_fits("crop", (3, 4), (5, 6), at)


def test_only_images_have_a_size() -> None:
    assert sized(ArraySpec((None, 7, 3), np.dtype(np.uint8)), 2, None) == ArraySpec((2, None, 3), np.dtype(np.uint8))
    assert sized(ArraySpec((7, 3), np.dtype(np.uint8)), 2, 2) is None
    assert sized(ObjectSpec(bytes), 2, 2) is None
