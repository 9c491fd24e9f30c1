"""Crops are slices."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import image
from penstock.core.errors import ElementError
from penstock.core.seeds import row_generator
from tests.image.photos import picture

PHOTO = picture(20, 31)


def test_a_crop_is_the_box() -> None:
    np.testing.assert_array_equal(image.crop(3, 5, 7, 9)(PHOTO), PHOTO[3:10, 5:14])
    np.testing.assert_array_equal(image.crop(0, 0, 20, 31)(PHOTO), PHOTO)


def test_a_crop_does_not_keep_the_image_alive() -> None:
    assert image.crop(3, 5, 7, 9)(PHOTO).base is None


@pytest.mark.parametrize(("height", "width"), [(20, 31), (1, 1), (7, 8), (8, 7), (13, 22)])
def test_a_center_crop_equals_that_of_torchvision(height, width) -> None:
    top, left = round((20 - height) / 2), round((31 - width) / 2)
    np.testing.assert_array_equal(
        image.center_crop((height, width))(PHOTO), PHOTO[top : top + height, left : left + width]
    )


def test_a_random_crop_is_a_box_of_the_image() -> None:
    seen = set()
    for row in range(60):
        found = image.random_crop((19, 30))(PHOTO, rng=row_generator(1, row))
        seen |= {(t, s) for t in range(2) for s in range(2) if np.array_equal(found, PHOTO[t : t + 19, s : s + 30])}
    assert seen == {(0, 0), (0, 1), (1, 0), (1, 1)}


def test_any_dtype_can_be_cropped() -> None:
    values = np.random.default_rng(0).normal(size=(5, 6, 2))
    np.testing.assert_array_equal(image.center_crop((3, 4))(values), values[1:4, 1:5])


@pytest.mark.parametrize(
    ("op", "message"),
    [
        (image.crop(15, 5, 7, 9), r"crop: a box of 7x9 at \(15, 5\) does not fit into an image of 20x31"),
        (image.center_crop(21), "center_crop: a box of 21x21 does not fit"),
        (image.random_crop((5, 32)), "random_crop: a box of 5x32 does not fit"),
    ],
)
def test_a_box_that_does_not_fit_is_refused(op, message) -> None:
    with pytest.raises(ElementError, match=message):
        op(PHOTO)


def test_wrong_arguments_are_refused() -> None:
    for call in (lambda: image.crop(-1, 0, 1, 1), lambda: image.crop(0, 0, 0, 1), lambda: image.random_crop(0)):
        with pytest.raises(ValueError, match="expected at least"):
            call()
    with pytest.raises(TypeError, match="expected a whole number"):
        image.center_crop(2.5)
