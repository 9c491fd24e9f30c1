"""Resizing: Pillow is the oracle with antialias, plain formulas without."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from penstock import image
from penstock.core.errors import ElementError
from penstock.core.seeds import row_generator
from penstock.kernels.reference import image as reference
from tests.image.photos import photos, picture

PILLOW = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC}


@pytest.mark.parametrize("interpolation", ["bilinear", "bicubic"])
@pytest.mark.parametrize("size", [(224, 224), (100, 333), (900, 1000), (427, 640), (3, 5), (1, 1), (427, 64)])
def test_photos_are_within_one_of_pillow_except_for_clipping(size, interpolation) -> None:
    for photo in photos():
        found = image.resize(size, interpolation=interpolation)(photo)
        expected = np.asarray(Image.fromarray(photo).resize(size[::-1], PILLOW[interpolation]))
        assert found.shape == expected.shape
        levels = np.abs(found.astype(int) - expected)
        if interpolation == "bilinear":
            assert levels.max() <= 1
        else:  # Pillow clips between the axes too, where a photo is nearly black or white
            assert levels.max() <= 10
            assert (levels > 1).sum() <= max(levels.size // 1000, 2)


NOISE = np.random.default_rng(5).integers(0, 2, (100, 80, 3)).astype(np.uint8) * 255
SIZES = [(20, 30), (150, 190), (57, 31), (33, 90), (100, 200), (300, 80)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
def test_noise_is_within_one_of_floats_and_equal_to_the_twin(size, interpolation, antialias) -> None:
    for noise in (NOISE, NOISE[..., :1]):
        found = image.resize(size, interpolation=interpolation, antialias=antialias)(noise)
        floats = reference.resize_floats(noise.astype(np.float64), size, interpolation, antialias=antialias)
        assert np.abs(found - np.clip(np.rint(floats), 0, 255)).max() <= 1
        twin = reference.resize_pixels(noise, size, interpolation, antialias=antialias)
        np.testing.assert_array_equal(found, twin)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("interpolation", "levels"), [("bilinear", 1), ("bicubic", 32)])
def test_on_noise_pillow_differs_where_it_clips_between_the_axes(size, interpolation, levels) -> None:
    expected = Image.fromarray(NOISE).resize(size[::-1], getattr(Image.Resampling, interpolation.upper()))
    found = image.resize(size, interpolation=interpolation)(NOISE)
    assert np.abs(found.astype(int) - np.asarray(expected)).max() <= levels


@pytest.mark.parametrize("size", [(20, 30), (77, 40), (5, 7), (33, 47)])
def test_without_antialias_two_pixels_are_blended(size) -> None:
    photo = picture(33, 47)
    y, x = ((np.arange(n) + 0.5) * (m / n) - 0.5 for n, m in zip(size, photo.shape[:2], strict=True))
    y, x = np.clip(y, 0, 32)[:, None, None], np.clip(x, 0, 46)[None, :, None]
    top, left = np.minimum(y.astype(int), 31), np.minimum(x.astype(int), 45)
    corner = [[photo[(top + i)[:, 0, 0]][:, (left + j)[0, :, 0]].astype(float) for j in range(2)] for i in range(2)]
    down, right = y - top, x - left
    expected = (corner[0][0] * (1 - right) + corner[0][1] * right) * (1 - down)
    expected += (corner[1][0] * (1 - right) + corner[1][1] * right) * down
    assert np.abs(image.resize(size, antialias=False)(photo) - expected).max() < 0.6


def test_nearest_takes_the_pixel_under_the_center() -> None:
    photo = picture(30, 41)
    found = image.resize((13, 100), interpolation="nearest")(photo)
    rows = ((np.arange(13) + 0.5) * (30 / 13)).astype(int)
    columns = ((np.arange(100) + 0.5) * (41 / 100)).astype(int)
    np.testing.assert_array_equal(found, photo[rows][:, columns])


@pytest.mark.parametrize("value", [0, 1, 127, 254, 255])
@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [True, False])
def test_a_uniform_color_is_kept(value, interpolation, antialias) -> None:
    flat = np.full((37, 53, 3), value, np.uint8)
    for size in ((7, 9), (53, 37), (200, 100)):
        found = image.resize(size, interpolation=interpolation, antialias=antialias)(flat)
        np.testing.assert_array_equal(found, value)


def test_one_number_is_the_shorter_side() -> None:
    resize = image.resize(10)
    assert resize(picture(20, 50)).shape == (10, 25, 3)
    assert resize(picture(50, 21)).shape == (23, 10, 3)
    assert resize(picture(7, 7)).shape == (10, 10, 3)


def test_floats_stay_floats() -> None:
    photo = picture(40, 30).astype(np.float32) / 255 - 0.5
    found = image.resize((11, 12))(photo)
    assert found.dtype == np.float32
    bands = [np.asarray(Image.fromarray(photo[..., c]).resize((12, 11), PILLOW["bilinear"])) for c in range(3)]
    np.testing.assert_allclose(found, np.stack(bands, -1), atol=1e-5)


def test_any_memory_layout_is_accepted() -> None:
    photo = picture(40, 30)
    expected = image.resize((9, 9))(photo[::2, ::-1].copy())
    np.testing.assert_array_equal(image.resize((9, 9))(photo[::2, ::-1]), expected)


def test_too_large_results_are_refused() -> None:
    with pytest.raises(ElementError, match="would become one of 400x40000000"):
        image.resize(400)(np.zeros((1, 100_000, 1), np.uint8))


def test_a_random_box_is_resized() -> None:
    photo, op = photos()[0], image.random_resized_crop((40, 50), antialias=False)
    first, again, other = (op(photo, rng=row_generator(5, row)) for row in (3, 3, 4))
    assert first.shape == (40, 50, 3)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(op(photo), op(photo))  # without a generator every call draws anew


def test_random_resized_crop_takes_one_draw() -> None:
    rng = row_generator(5, 3)
    image.random_resized_crop(8)(picture(20, 20), rng=rng)
    expected = row_generator(5, 3)
    expected.bit_generator.random_raw()
    assert rng.bit_generator.random_raw() == expected.bit_generator.random_raw()


def test_a_strip_gets_the_centered_box() -> None:
    strip = picture(4, 400)
    found = image.random_resized_crop((8, 8), scale=(1.0, 1.0), ratio=(1.0, 2.0))(strip)
    np.testing.assert_array_equal(found, image.resize((8, 8))(strip[:, 196:204]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: image.resize(0), ValueError, "at least 1"),
        (lambda: image.resize("224"), TypeError, "expected a whole number"),
        (lambda: image.resize((1, 2, 3)), ValueError, r"\(height, width\)"),
        (lambda: image.resize((100_000, 100_000)), ValueError, "at most"),
        (lambda: image.resize(8, interpolation="lanczos"), ValueError, "expected one of 'nearest'"),
        (lambda: image.resize(8, antialias="no"), TypeError, "expected True or False"),
        (lambda: image.random_resized_crop(8, scale=(0.5, 0.2)), ValueError, "0 < least <= most"),
        (lambda: image.random_resized_crop(8, scale=(0.5, 2.0)), ValueError, "at most 1"),
        (lambda: image.random_resized_crop(8, scale=0.5), TypeError, "two numbers"),
        (lambda: image.random_resized_crop(8, ratio=(0.0, 1.0)), ValueError, "0 < least"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (b"\xff\xd8\xff", TypeError, r"put ps.image.decode\(\) before it"),
        ([[1]], TypeError, "not list"),
        (np.zeros((4, 4), np.uint8), ElementError, r"image\[..., None\]"),
        (np.zeros((0, 4, 3), np.uint8), ElementError, "with pixels"),
        (np.zeros((4, 4, 3), np.int32), ElementError, "uint8 or float32, not int32"),
    ],
)
def test_wrong_images_are_refused(value, error, message) -> None:
    for op in (image.resize(4), image.random_resized_crop(4)):
        with pytest.raises(error, match=message):
            op(value)
