"""Arrays as pictures."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest

from penstock import image as images
from penstock.watch.page.pictures import image_of, is_wave, png_bytes, png_url, thumbnail, waveform


def test_a_png_has_the_pixels():
    image = np.random.default_rng(0).integers(0, 256, (9, 11, 3), np.uint8)
    pillow = pytest.importorskip("PIL.Image")
    assert np.array_equal(np.asarray(pillow.open(io.BytesIO(png_bytes(image)))), image)
    data = base64.b64decode(png_url(image).removeprefix("data:image/png;base64,"))
    assert np.array_equal(np.asarray(pillow.open(io.BytesIO(data))), image)


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (np.zeros((16, 20, 3), np.uint8), (16, 20, 3)),
        (np.zeros((16, 20, 4), np.float32), (16, 20, 4)),
        (np.zeros((3, 16, 20), np.float32), (16, 20, 3)),
        (np.zeros((1, 16, 20), np.int16), (16, 20, 1)),
        (np.zeros((28, 28), np.uint8), (28, 28, 1)),
        (np.zeros((80, 200), np.float16), (80, 200, 1)),
        (np.zeros((28, 28), np.int64), None),  # tokens
        (np.zeros((28, 28), bool), None),
        (np.zeros((2, 28, 28), np.uint8), None),
        (np.zeros((16, 3), np.uint8), None),
        (np.zeros((0, 0, 3), np.uint8), None),
        (np.zeros((4, 16, 20, 3), np.uint8), None),
        (np.zeros((16, 20, 3), complex), None),
        ("text", None),
        (b"\xff\xd8\xff damaged", None),
        (png_bytes(np.zeros((9, 11, 3), np.uint8))[:-30], None),
        (7, None),
    ],
)
def test_what_counts_as_an_image(value, shape):
    image = image_of(value)
    assert (None if image is None else image.shape) == shape


def test_an_encoded_image_is_decoded():
    pytest.importorskip("PIL")
    pixels = np.random.default_rng(0).integers(0, 256, (9, 11, 3), np.uint8)
    assert np.array_equal(image_of(png_bytes(pixels)), pixels)
    assert images.decode()(png_bytes(pixels)).shape == (9, 11, 3)


@pytest.mark.parametrize(
    ("image", "shape", "top"),
    [
        (np.full((200, 100, 3), 9, np.uint8), (96, 48, 3), 9),
        (np.full((1000, 8, 3), 9, np.uint8), (96, 1, 3), 9),
        (np.full((10, 10, 1), 0xFFFF, np.uint16), (10, 10, 3), 255),
        (np.full((10, 10, 1), 7, np.int64), (10, 10, 3), 7),
        (np.full((10, 10, 1), 0.5, np.float16), (10, 10, 3), 127),
        (np.full((10, 10, 1), 200.0), (10, 10, 3), 200),
        (np.full((10, 10, 1), 2.5), (10, 10, 3), 2),
        (np.linspace(-3, 3, 300, dtype=np.float32).reshape(10, 10, 3), (10, 10, 3), 255),
        (np.full((10, 10, 4), np.nan, np.float32), (10, 10, 3), 0),
        (np.full((10, 10, 3), np.inf), (10, 10, 3), 0),
        (np.full((10, 10, 2), 9, np.uint8), (10, 10, 3), 9),
    ],
)
def test_a_thumbnail_is_small_and_of_bytes(image, shape, top):
    small = thumbnail(image)
    assert (small.shape, small.dtype, small.max()) == (shape, np.uint8, top)


@pytest.mark.parametrize("factor", [1.0000001, 1.2, 2])
def test_a_brightened_image_of_floats_is_as_bright_as_before_and_white_where_it_is_too_bright(factor):
    image = np.linspace(0, 1, 64).reshape(8, 8, 1) * factor
    expected = (np.minimum(image, 1) * 255).astype(np.uint8)
    assert np.array_equal(thumbnail(image), np.repeat(expected, 3, axis=2))


def test_a_thumbnail_averages():
    checkered = np.tile(np.array([[0, 200], [200, 0]], np.uint8), (96, 96))[:, :, None]
    assert np.all(thumbnail(checkered) == 100)


def test_a_large_image_takes_little_memory():
    huge = np.broadcast_to(np.uint8(3), (50_000, 40_000, 3))
    assert thumbnail(huge).shape == (96, 77, 3)


def test_waveforms_show_one_channel_and_skip_what_is_not_finite():
    wave = np.sin(np.arange(4000) / 9).astype(np.float32)
    assert is_wave(wave)
    assert waveform(np.stack([wave, wave])) == waveform(np.stack([wave, wave], 1)) == waveform(wave)
    assert waveform(wave).count("<line") == 160
    assert "<line" not in waveform(np.full(4000, np.nan))
    assert waveform((wave * 32767).astype(np.int16)).count("<line") == 160
    assert not is_wave(wave[:10])
    assert not is_wave(wave.astype(complex))
