"""Normalising is what torchvision's ToTensor and Normalize do; to_chw is a transposition."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import image
from penstock.core.errors import ElementError
from tests.image.photos import picture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
PHOTO = picture(6, 9)


def test_bytes_are_scaled_by_255() -> None:
    found = image.normalize(MEAN, STD)(PHOTO)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, (PHOTO / 255 - MEAN) / STD, rtol=2e-6, atol=2e-6)


def test_floats_are_not_scaled() -> None:
    values = PHOTO.astype(np.float32) / 255
    np.testing.assert_allclose(image.normalize(MEAN, STD)(values), (values - MEAN) / STD, rtol=2e-6, atol=2e-6)


def test_half_precision_is_rounded_from_single() -> None:
    found = image.normalize(MEAN, STD, dtype="float16")(PHOTO)
    np.testing.assert_array_equal(found, image.normalize(MEAN, STD)(PHOTO).astype(np.float16))


def test_one_number_applies_to_all_channels() -> None:
    np.testing.assert_array_equal(image.normalize(0.5, 0.25)(PHOTO), image.normalize([0.5] * 3, [0.25] * 3)(PHOTO))
    assert image.normalize(0.5, 0.25)(PHOTO[..., :1]).shape == (6, 9, 1)


def test_channels_may_come_first() -> None:
    normalize, to_chw = image.normalize(MEAN, STD), image.to_chw()
    np.testing.assert_array_equal(normalize(to_chw(PHOTO)), to_chw(normalize(PHOTO)))


def test_to_chw_is_contiguous() -> None:
    found = image.to_chw()(PHOTO)
    np.testing.assert_array_equal(found, PHOTO.transpose(2, 0, 1))
    assert found.flags.c_contiguous


def test_channels_that_do_not_match_are_refused() -> None:
    with pytest.raises(ElementError, match=r"3 means.*\(6, 9, 1\)"):
        image.normalize(MEAN, STD)(PHOTO[..., :1])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: image.normalize((0, 0), (1, 1, 1)), ValueError, "equally many means and deviations"),
        (lambda: image.normalize(0, 0), ValueError, "above 0"),
        (lambda: image.normalize(0, -1), ValueError, "above 0"),
        (lambda: image.normalize("mean", 1), TypeError, "expected a number"),
        (lambda: image.normalize(float("nan"), 1), ValueError, "finite"),
        (lambda: image.normalize((), 1), ValueError, "finite"),
        (lambda: image.normalize(0, 1, dtype="float64"), ValueError, "'float32' or 'float16'"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()
