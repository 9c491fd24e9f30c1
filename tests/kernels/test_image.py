"""Image kernels equal their NumPy twins, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import image as kernel
from penstock.kernels.reference import image as twin

SIZES = st.integers(1, 70)
DRAWS = st.integers(0, 2**64 - 1)


@given(SIZES, SIZES, SIZES, SIZES, st.sampled_from([1, 3, 4]), st.sampled_from(sorted(kernel.FILTERS)), st.booleans())
def test_resizing_equals_the_twin(height, width, to_height, to_width, channels, interpolation, antialias) -> None:
    rng = np.random.default_rng([height, width])
    image = rng.choice([0, 255, 90, 17], (height, width, channels)).astype(np.uint8)
    size = (to_height, to_width)
    found = kernel.resize_pixels(image, size, interpolation, antialias=antialias)
    np.testing.assert_array_equal(found, twin.resize_pixels(image, size, interpolation, antialias=antialias))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("size", [(224, 224), (15, 16), (17, 1), (1, 640), (400, 520)])
def test_resizing_a_large_image_equals_the_twin(size, antialias) -> None:
    image = np.random.default_rng(0).integers(0, 256, (375, 500, 3), np.uint8)
    image = image if max(size) < 400 else image[:, :, :1]  # the twin takes long
    found = kernel.resize_pixels(image, size, antialias=antialias)
    np.testing.assert_array_equal(found, twin.resize_pixels(image, size, antialias=antialias))


@given(SIZES, SIZES, SIZES, SIZES, st.sampled_from(sorted(kernel.FILTERS)), st.booleans())
def test_integer_resampling_is_as_exact_as_floats(height, width, to_height, to_width, interpolation, antialias) -> None:
    image = np.random.default_rng([height, width]).integers(60, 190, (height, width, 3), np.uint8)  # nothing is clipped
    size = (to_height, to_width)
    found = kernel.resize_pixels(image, size, interpolation, antialias=antialias)
    exact = kernel.resize_pixels(image.astype(np.float32), size, interpolation, antialias=antialias)
    assert np.abs(found - exact).max() < 0.8


@given(st.integers(1, 900), st.integers(1, 900), DRAWS)
def test_boxes_equal_the_twin(height, width, draw) -> None:
    scale, ratio = (0.08, 1.0), (3 / 4, 4 / 3)
    box = kernel.random_resized_crop_box(height, width, scale, ratio, draw)
    assert box == twin.random_resized_crop_box(height, width, scale, ratio, draw)
    top, left, h, w = box
    assert 0 <= top <= height - h < height
    assert 0 <= left <= width - w < width


def test_boxes_are_uniform_in_scale_and_ratio() -> None:
    draws = np.random.default_rng(0).integers(0, 2**64, 4000, np.uint64).tolist()
    boxes = np.array([kernel.random_resized_crop_box(1000, 1000, (0.2, 0.6), (0.5, 2.0), draw) for draw in draws])
    areas, ratios = boxes[:, 2] * boxes[:, 3] / 1e6, np.log(boxes[:, 3] / boxes[:, 2])
    assert 0.199 < areas.min() < 0.21
    assert 0.55 < areas.max() < 0.601
    assert abs(ratios.mean()) < 0.03
    assert boxes[:, 0].min() < 10
    assert (boxes[:, 0] + boxes[:, 2]).max() > 990


@given(st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 2000))
def test_the_shorter_side_has_the_requested_size(height, width, shorter) -> None:
    size = kernel.shorter_side_size(height, width, shorter)
    long = max(shorter * max(height, width) // min(height, width), 1)
    assert size == ((shorter, long) if height <= width else (long, shorter))


def test_a_flip_has_its_probability() -> None:
    draws = np.random.default_rng(0).integers(0, 2**64, 4000, np.uint64).tolist()
    assert not any(kernel.random_flip_choice(0.0, draw) for draw in draws)
    assert all(kernel.random_flip_choice(1.0, draw) for draw in draws)
    assert 0.27 < np.mean([kernel.random_flip_choice(0.3, draw) for draw in draws]) < 0.33
    assert [kernel.random_flip_choice(0.3, d) for d in draws] == [next(twin.uniforms(d)) < 0.3 for d in draws]


def test_a_random_crop_reaches_every_place() -> None:
    draws = np.random.default_rng(0).integers(0, 2**64, 500, np.uint64).tolist()
    boxes = {kernel.random_crop_box(5, 6, 4, 4, draw) for draw in draws}
    assert boxes == {(top, left, 4, 4) for top in range(2) for left in range(3)}


def test_memory_of_another_kind_is_refused() -> None:
    program = kernel.ImageProgram(1000)
    draws = np.empty((1, 0), np.uint64)
    for out in (
        np.empty((1, 4, 4, 3), np.float32),
        np.empty((1, 4, 4, 4), np.uint8),
        np.empty((2, 4, 4, 3), np.uint8),
        np.empty((1, 8, 4, 3), np.uint8)[:, ::2],
        [],
    ):
        with pytest.raises(ValueError, match="out: expected"):
            kernel.run_images(program, [b""], draws, out)
