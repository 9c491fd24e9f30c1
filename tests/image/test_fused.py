"""The fused kernel equals the composition of its parts."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import image
from penstock.core.errors import DecodeError, ElementError
from penstock.core.seeds import row_generator
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.image.fused import FusedImage, fuse
from tests.draws import draws
from tests.image.photos import encoded, photos, picture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def fused_of(*ops: Any) -> FusedImage:
    fused = fuse(ops, range(100, 100 + len(ops)))
    assert fused is not None
    return fused


def composed(fused: FusedImage, value: Any, row: int) -> np.ndarray:
    for op, key in zip(fused.ops, fused.keys, strict=True):
        value = op(value, rng=row_generator(key, row))
    return value


def check(fused: FusedImage, values: list[Any], rows: list[int]) -> None:
    found = fused.run(values, np.array(rows), None)
    assert len(found) == len(values)
    for i, (value, row) in enumerate(zip(values, rows, strict=True)):
        expected = composed(fused, value, row)
        assert found[i].dtype == expected.dtype
        np.testing.assert_array_equal(found[i], expected)


SIDES = st.integers(1, 60)


@st.composite
def files(draw: st.DrawFn) -> bytes:
    channels = draw(st.sampled_from([1, 3, 3, 3]))
    pixels = picture(draw(SIDES), draw(SIDES), channels, draw(st.integers(0, 3)))
    kind = draw(st.sampled_from(["JPEG", "JPEG", "JPEG", "JPEG", "CMYK", "PNG"]))
    if kind == "PNG":
        return encoded(pixels, "PNG")
    options = {"subsampling": draw(st.integers(0, 2))} if channels == 3 and kind != "CMYK" else {}
    mode = "CMYK" if kind == "CMYK" and channels == 3 else None
    return encoded(
        pixels, mode=mode, quality=draw(st.sampled_from([60, 90])), progressive=draw(st.booleans()), **options
    )


@st.composite
def chains(draw: st.DrawFn) -> list[Any]:
    channels = draw(st.sampled_from([1, 3]))
    interpolation = draw(st.sampled_from(["nearest", "bilinear", "bicubic"]))
    antialias = draw(st.booleans())
    sampling: dict[str, Any] = {"interpolation": interpolation, "antialias": antialias}
    ops: list[Any] = [image.decode(channels=channels, exact=True)]
    ops += draw(st.lists(st.sampled_from([image.random_flip(), image.random_flip(1.0)]), max_size=2))
    size = (draw(SIDES), draw(SIDES))
    ops += draw(
        st.sampled_from(
            [[], [image.random_resized_crop(size, **sampling)], [image.resize(size, **sampling)], [image.resize(9)]]
        )
    )
    if len(ops) > 1 and isinstance(ops[-1], (type(image.resize(1)), type(image.random_resized_crop(1)))):
        smaller = (9, 9) if isinstance(ops[-1].size, int) else size
        box = (draw(st.integers(1, smaller[0])), draw(st.integers(1, smaller[1])))
        ops += draw(st.sampled_from([[], [image.center_crop(box)], [image.random_crop(box)], [image.crop(0, 0, *box)]]))
    ops += draw(st.lists(st.just(image.random_flip()), max_size=1))
    mean, std = draw(st.sampled_from([(MEAN, STD), (0.5, 0.25)])) if channels == 3 else (0.5, 0.25)
    normalize = image.normalize(mean, std, dtype=draw(st.sampled_from(["float32", "float16"])))
    return ops + draw(st.sampled_from([[], [normalize], [image.to_chw()], [normalize, image.to_chw()]]))


@settings(max_examples=draws(300))
@given(chains(), st.lists(files(), min_size=1, max_size=3), st.integers(0, 2**40))
def test_random_chains_equal_their_composition(ops, values, row) -> None:
    check(fused_of(*ops), values, [row + i for i in range(len(values))])


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("antialias", [True, False])
def test_the_pipeline_of_imagenet_equals_its_composition(subsampling, antialias) -> None:
    values = [encoded(photo, quality=90, subsampling=subsampling) for photo in photos()] * 8
    ops = [image.decode(exact=True), image.random_resized_crop(224, antialias=antialias), image.random_flip()]
    check(fused_of(*ops), values, list(range(16)))
    check(fused_of(*ops, image.normalize(MEAN, STD), image.to_chw()), values, list(range(16)))


def test_evaluation_equals_its_composition() -> None:
    values = [encoded(photo, quality=90) for photo in photos()]
    fused = fused_of(image.decode(exact=True), image.resize(256), image.center_crop(224), image.normalize(MEAN, STD))
    check(fused, values, [0, 1])


def test_crops_before_and_after_the_resampling() -> None:
    values = [encoded(photo[:301, :405], quality=90, subsampling=2) for photo in photos()]
    for row in range(20):
        ops = [
            image.decode(),
            image.random_flip(),
            image.random_crop((250, 333)),
            image.random_flip(),
            image.crop(3, 7, 240, 300),
            image.resize((200, 260)),
            image.random_crop((190, 200)),
            image.random_flip(),
            image.center_crop((50, 51)),
        ]
        check(fused_of(*ops), values, [row, row + 100])


def test_crops_alone_decode_the_same_pixels() -> None:
    values = [encoded(photos()[0][:93, :131], quality=90, subsampling=subsampling) for subsampling in range(3)]
    for row in range(60):
        size = (1 + row % 7 * 13, 1 + row % 11 * 12)
        check(fused_of(image.decode(), image.random_crop(size), image.random_flip()), values, [row, row, row])


NOISE = np.random.default_rng(3).integers(0, 256, (128, 192, 3)).astype(np.uint8)


@pytest.mark.parametrize("size", [(64, 96), (32, 48), (16, 24), (20, 24)])
def test_nearest_is_decoded_at_full_scale(size) -> None:
    for subsampling in range(3):
        data = encoded(NOISE, quality=90, subsampling=subsampling)
        check(fused_of(image.decode(), image.resize(size, interpolation="nearest")), [data], [0])


def test_scale_is_reduced_from_a_crop_of_twice_the_size_on_unless_the_decoding_is_exact() -> None:
    data = encoded(NOISE, quality=90)
    for interpolation in ("bilinear", "bicubic"):
        check(fused_of(image.decode(), image.resize((65, 97), interpolation=interpolation)), [data], [0])
        check(fused_of(image.decode(exact=True), image.resize((64, 96), interpolation=interpolation)), [data], [0])
        reduced = fused_of(image.decode(), image.resize((64, 96), interpolation=interpolation))
        difference = np.abs(reduced.run([data], np.array([0]))[0].astype(int) - composed(reduced, data, 0))
        assert 0 < difference.max() <= 100


def test_reduced_scale_is_near_the_full_one() -> None:
    """With antialias: below 4 of 255 levels in the mean and 64 at most, on real photographs at quality 90."""
    for photo in photos():
        for subsampling in range(3):
            data = encoded(photo, quality=90, subsampling=subsampling)
            for size in ((213, 320), (200, 200), (100, 150), (53, 80), (40, 40)):
                fused = fused_of(image.decode(), image.resize(size))
                difference = np.abs(fused.run([data], np.array([0]))[0].astype(int) - composed(fused, data, 0))
                assert 0 < difference.mean() < 4
                assert difference.max() < 64


def test_reduced_scale_without_antialias_has_less_aliasing() -> None:
    for photo in photos():
        data = encoded(photo, quality=90)
        for size in ((200, 200), (100, 150), (53, 80)):
            rough, smooth = fused_of(image.decode(), image.resize(size, antialias=False)), image.resize(size)
            ideal = smooth(image.decode()(data)).astype(int)
            reduced = np.abs(rough.run([data], np.array([0]))[0] - ideal).mean()
            assert reduced < np.abs(composed(rough, data, 0) - ideal).mean()


def test_results_are_written_into_the_memory_given() -> None:
    values = [encoded(photo) for photo in photos()]
    fused = fused_of(image.decode(), image.random_resized_crop(32))
    memory = np.full((4, 32, 32, 3), 7, np.uint8)
    assert fused.run(values, np.arange(2), memory[1:3]).base is memory
    np.testing.assert_array_equal(memory[[0, 3]], 7)
    np.testing.assert_array_equal(memory[1:3], fused.run(values, np.arange(2), None))


def test_images_of_one_size_need_no_fixed_size() -> None:
    values = [encoded(photo) for photo in photos()]
    fused = fused_of(image.decode())
    out = np.empty((2, 427, 640, 3), np.uint8)
    assert fused.run(values, np.arange(2), out) is out
    np.testing.assert_array_equal(out[1], composed(fused, values[1], 1))


def test_images_of_different_sizes_are_returned_as_a_list() -> None:
    values = [encoded(picture(20, 30)), encoded(picture(21, 30), "PNG"), encoded(picture(20, 30))]
    fused = fused_of(image.decode())
    assert [found.shape for found in fused.run(values, np.arange(3), None)] == [(20, 30, 3), (21, 30, 3), (20, 30, 3)]
    found = fused.run(values, np.arange(3), np.empty((3, 20, 30, 3), np.uint8))
    assert isinstance(found, list)
    np.testing.assert_array_equal(found[1], composed(fused, values[1], 1))


def test_memory_that_does_not_fit_is_left_alone() -> None:
    values = [encoded(picture(20, 30))]
    fused = fused_of(image.decode(), image.to_chw())
    for out in (np.zeros((1, 20, 30, 3), np.uint8), np.zeros((1, 3, 20, 30), np.float32)):
        found = fused.run(values, np.arange(1), out)
        np.testing.assert_array_equal(found[0], composed(fused, values[0], 0))
        assert not out.any()


def test_no_images_give_no_results() -> None:
    assert fused_of(image.decode(), image.resize((4, 5))).run([], np.arange(0), None).shape == (0, 4, 5, 3)
    assert fused_of(image.decode()).run([], np.arange(0), None) == []


def test_oriented_images_are_rotated() -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    values = [encoded(picture(24, 40), exif=exif), encoded(picture(24, 40))]
    check(fused_of(image.decode(exif=True), image.random_resized_crop((8, 9)), image.random_flip()), values, [0, 1])


@pytest.mark.parametrize("bad", [b"", b"\xff\xd8\xff", b"no image", "a path", None, 7])
@pytest.mark.parametrize("fixed", [True, False])
def test_an_error_has_the_position_of_its_element(bad, fixed) -> None:
    good = encoded(picture(20, 30))
    fused = fused_of(image.decode(), image.resize((4, 4))) if fixed else fused_of(image.decode())
    for at in range(3):
        values = [good, encoded(picture(9, 9), "PNG"), good]
        values[at] = bad
        with pytest.raises(DecodeError) as raised:
            fused.run(values, np.arange(3), None)
        assert raised.value.element == at
        with pytest.raises(DecodeError) as expected:
            fused.ops[0](bad)
        assert str(raised.value) == str(expected.value)


def test_the_first_error_is_raised() -> None:
    values = [encoded(picture(20, 30)), "no bytes", encoded(picture(20, 30))[:300], b""]
    with pytest.raises(DecodeError, match="not str") as raised:
        fused_of(image.decode(), image.resize((4, 4))).run(values, np.arange(4), None)
    assert raised.value.element == 1


@pytest.mark.parametrize("op", [image.crop(15, 5, 7, 9), image.center_crop(21), image.random_crop((5, 32))])
def test_a_box_that_does_not_fit_is_the_same_error(op) -> None:
    value = encoded(picture(20, 31))
    fused = fused_of(image.decode(), op)
    with pytest.raises(ElementError) as raised:
        fused.run([value], np.arange(1), None)
    with pytest.raises(ElementError) as expected:
        composed(fused, value, 0)
    assert str(raised.value) == str(expected.value)
    assert raised.value.element == 0


def test_a_fused_chain_can_be_pickled() -> None:
    fused = fused_of(image.decode(), image.random_resized_crop(16))
    values = [encoded(photo) for photo in photos()]
    found = fused.run(values, np.arange(2), None)
    copy = pickle.loads(pickle.dumps(fused))
    assert copy == fused
    np.testing.assert_array_equal(copy.run(values, np.arange(2), None), found)


def test_threads_can_share_a_fused_chain() -> None:
    from concurrent.futures import ThreadPoolExecutor

    values = [encoded(picture(64, 64, seed=seed)) for seed in range(16)]
    fused = fused_of(image.decode(), image.random_resized_crop(24), image.normalize(MEAN, STD))
    expected = fused.run(values, np.arange(16), None)
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: fused.run(values, np.arange(16), None), range(40)):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("ops", "count"),
    [
        ([image.decode(), image.resize(8), image.resize(4)], 2),
        ([image.decode(), image.to_chw(), image.center_crop(4)], 2),
        ([image.decode(), image.normalize(0, 1), image.normalize(0, 1)], 2),
        ([image.decode(), image.to_chw(), image.normalize(MEAN, STD)], 2),  # channels first is not known to it
        ([image.decode(), image.resize((4, 4)), image.to_chw(), image.normalize(MEAN, STD)], 4),
        ([image.decode(), image.to_chw(), image.normalize(0, 1)], 3),
        ([image.decode(channels=1), image.normalize(MEAN, STD)], 1),
        ([image.decode(), image.decode()], 1),
        ([image.resize(8)], 0),
        ([], 0),
    ],
)
def test_unsupported_chains_are_not_fused(ops, count) -> None:
    fused = [length for length in range(1, len(ops) + 1) if fuse(ops[:length], [0] * length) is not None]
    assert max(fused, default=0) == count


def test_specs_describe_the_results() -> None:
    file = ObjectSpec(bytes)
    fused = fused_of(image.decode(), image.random_resized_crop((4, 5)), image.normalize(MEAN, STD), image.to_chw())
    assert fused.spec(file) == ArraySpec((3, 4, 5), np.dtype(np.float32))
    assert fused_of(image.decode(channels=1)).spec(file) == ArraySpec((None, None, 1), np.dtype(np.uint8))
    assert fused_of(image.decode(), image.crop(0, 0, 6, 8), image.resize(3)).spec(file) == ArraySpec(
        (3, 4, 3), np.dtype(np.uint8)
    )
    assert fused_of(image.decode(), image.resize(3)).spec(file) == ArraySpec((None, None, 3), np.dtype(np.uint8))


def test_the_number_of_keys_must_match() -> None:
    with pytest.raises(ValueError, match="one key for each operation"):
        fuse([image.decode()], [])
