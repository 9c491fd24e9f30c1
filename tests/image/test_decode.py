"""Decoding: every kind of image there is, and everything that is none."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from penstock import image
from penstock.core.errors import DecodeError, MissingDependencyError
from tests.image.photos import encoded, opened, photos, picture

HOSTILE = Path(__file__).parents[2] / "native" / "hostile" / "image"


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (16, 16), (17, 31), (100, 75)])
def test_jpeg_equals_pillow(size, subsampling, progressive) -> None:
    data = encoded(picture(*size), quality=90, subsampling=subsampling, progressive=progressive)
    np.testing.assert_array_equal(image.decode()(data), opened(data))


def test_gray_becomes_three_channels_or_one() -> None:
    data = encoded(picture(20, 30, 1))
    np.testing.assert_array_equal(image.decode(channels=1)(data), opened(data, "L"))
    np.testing.assert_array_equal(image.decode()(data), opened(data))


def test_color_becomes_luma() -> None:
    data = encoded(photos()[0])
    luma = Image.open(io.BytesIO(data))
    luma.draft("L", luma.size)  # Pillow's way to the luma itself, without a round trip through colour
    np.testing.assert_array_equal(image.decode(channels=1)(data)[..., 0], np.asarray(luma))


def test_cmyk_becomes_rgb() -> None:
    data = encoded(photos()[1], mode="CMYK", quality=95)
    found = image.decode()(data)
    assert np.abs(found.astype(int) - opened(data)).max() <= 1
    assert image.decode(channels=1)(data).shape == (427, 640, 1)


@pytest.mark.parametrize("channels", [1, 3])
def test_cmyk_without_adobes_marker_decodes_the_same(channels) -> None:
    data = encoded(photos()[1], mode="CMYK", quality=95)
    at = data.index(b"\xff\xee\x00\x0eAdobe")
    bare = data[:at] + data[at + 16 :]
    decode = image.decode(channels=channels)
    np.testing.assert_array_equal(decode(bare), decode(data))
    if channels == 3:
        assert np.abs(decode(bare).astype(int) - opened(bare)).max() <= 1


@pytest.mark.parametrize(
    ("format", "mode"), [("PNG", "RGB"), ("PNG", "RGBA"), ("PNG", "P"), ("BMP", "RGB"), ("GIF", "P")]
)
def test_other_formats_go_through_pillow(format, mode) -> None:
    data = encoded(picture(12, 18), format, mode)
    np.testing.assert_array_equal(image.decode()(data), opened(data))
    assert image.decode(channels=1)(data).shape == (12, 18, 1)


def test_images_of_sixteen_bits_keep_the_upper_eight() -> None:
    values = np.array([[0, 255, 256, 65535]], np.uint16)
    file = io.BytesIO()
    Image.fromarray(values).save(file, "PNG")
    np.testing.assert_array_equal(image.decode(channels=1)(file.getvalue())[..., 0], [[0, 0, 1, 255]])


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_rotates_only_on_request(orientation, format) -> None:
    from PIL import ImageOps

    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(picture(24, 40), format, exif=exif)
    turned = np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))))
    np.testing.assert_array_equal(image.decode(exif=True)(data), turned)
    np.testing.assert_array_equal(image.decode()(data), opened(data))


def test_bytes_may_come_as_any_kind_of_bytes() -> None:
    data = encoded(picture(9, 9))
    expected = image.decode()(data)
    for kind in (bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8)):
        np.testing.assert_array_equal(image.decode()(kind(data)), expected)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "it is empty"),
        (b"\xff\xd8\xff", "it is truncated: its 3 bytes end before the pixels begin"),
        (b"<!DOCTYPE html>", "begin with b'<!DOCTYP', which is not a known format"),
        (b"GIF89a", "not a known format|truncated|Truncated"),
        ("photo.jpg", "takes the bytes of an image file, not str"),
        (None, "not NoneType"),
        (np.zeros((3, 3, 3), np.uint8), "not an array of uint8"),
    ],
)
def test_data_that_is_no_image_is_named(data, message) -> None:
    with pytest.raises(DecodeError, match=message):
        image.decode()(data)


@pytest.mark.parametrize("progressive", [False, True])
def test_truncated_images_are_refused(progressive) -> None:
    data = encoded(picture(64, 64), quality=90, progressive=progressive)
    for length in range(4, len(data) - 2, 61):
        with pytest.raises(DecodeError, match="truncated"):
            image.decode()(data[:length])


@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("lost", [1, 2])
def test_a_file_without_its_end_marker_has_all_its_pixels(progressive, lost) -> None:
    data = encoded(picture(64, 64), quality=90, progressive=progressive)
    assert data[-2:] == b"\xff\xd9"
    np.testing.assert_array_equal(image.decode()(data[:-lost]), image.decode()(data))


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"optimize": True}, {"restart_marker_blocks": 3}])
def test_pixels_that_became_zeros_are_missed_without_an_end_marker(options) -> None:
    data = encoded(picture(64, 64), quality=90, **options)
    for length in range(len(data) // 4, len(data) - 2, 61):
        with pytest.raises(DecodeError):
            image.decode()(data[:length] + bytes(4 * len(data)))


def test_bytes_that_are_left_before_a_restart_are_damage() -> None:
    data = encoded(picture(64, 64), quality=90, restart_marker_blocks=3)
    at = data.index(b"\xff\xd0")
    with pytest.raises(DecodeError, match="extraneous bytes before marker 0xd0"):
        image.decode()(data[:at] + bytes(20) + data[at:])


def test_a_file_without_the_scans_of_some_components_is_refused() -> None:
    data = encoded(picture(24, 24, 1), quality=90)
    at = data.index(b"\xff\xc0\x00\x0b")  # the frame of a gray image; its one scan is then that of the first of three
    frame = data[at + 4 : at + 9] + b"\x03\x01\x11\x00\x02\x11\x00\x03\x11\x00"
    with pytest.raises(DecodeError, match="no scan of one of its color components"):
        image.decode()(data[: at + 2] + b"\x00\x11" + frame + data[at + 13 :])


@pytest.mark.parametrize("format", ["JPEG", "PNG"])
def test_the_pixel_limit_is_named(format) -> None:
    data = encoded(picture(10, 11), format)
    assert image.decode(max_pixels=110)(data).shape == (10, 11, 3)
    with pytest.raises(DecodeError, match=r"11 x 10 pixels, more than the limit of max_pixels=109"):
        image.decode(max_pixels=109)(data)


@pytest.mark.parametrize("name", [path.name for path in sorted(HOSTILE.iterdir())])
def test_hostile_files_are_images_or_errors(name) -> None:
    data = (HOSTILE / name).read_bytes()
    for decode in (image.decode(), image.decode(channels=1, exif=True)):
        message, pixels = "", None
        try:
            pixels = decode(data)
        except DecodeError as error:
            message = str(error)
        assert (pixels is None) == bool(message)
        assert pixels is not None or not name.startswith("good")
        assert pixels is None or (pixels.dtype == np.uint8 and pixels.size > 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("huge-65500.jpg", "more than the limit"),
        ("many-scans.jpg", "more than 200 scans"),
        ("two-components.jpg", "2 color components"),
        ("truncated-pixels.jpg", "truncated: its .* bytes end in row"),
        ("marker-in-pixels.jpg", "Corrupt JPEG data"),
        ("lossless.jpg", "Unsupported JPEG process"),
    ],
)
def test_each_kind_of_damage_has_its_message(name, message) -> None:
    with pytest.raises(DecodeError, match=message):
        image.decode()((HOSTILE / name).read_bytes())


def test_decoding_does_not_depend_on_earlier_files() -> None:
    without_tables = (HOSTILE / "table-missing.jpg").read_bytes()
    with pytest.raises(DecodeError):
        image.decode()(without_tables)
    image.decode()(encoded(picture(20, 20)))
    with pytest.raises(DecodeError):
        image.decode()(without_tables)


@given(st.data())
def test_damaged_files_are_images_or_errors(data) -> None:
    progressive = data.draw(st.booleans())
    file = bytearray(encoded(picture(24, 31), quality=80, progressive=progressive))
    for _ in range(data.draw(st.integers(1, 6))):
        file[data.draw(st.integers(0, len(file) - 1))] = data.draw(st.integers(0, 255))
    try:
        pixels = image.decode(max_pixels=100_000)(bytes(file))
    except DecodeError:
        return
    assert pixels.ndim == 3


def test_without_pillow_other_formats_name_the_extra(monkeypatch) -> None:
    data = encoded(picture(4, 4), "PNG")
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingDependencyError, match=r"penstock\[image\]"):
        image.decode()(data)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"channels": 4}, ValueError, "expected 3"),
        ({"channels": "RGB"}, TypeError, "expected a whole number"),
        ({"max_pixels": 0}, ValueError, "at least 1"),
        ({"exif": "yes"}, TypeError, "expected True or False"),
        ({"exact": 1}, TypeError, "expected True or False"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message) -> None:
    with pytest.raises(error, match=message):
        image.decode(**arguments)
