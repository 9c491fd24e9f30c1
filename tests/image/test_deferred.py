"""A chain that a feed runs: the same rows and draws, noted in the pipeline."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import image
from penstock.core.errors import DecodeError, ElementError
from penstock.core.seeds import row_generator
from penstock.image.deferred import DeferredImage
from tests.image.photos import encoded, picture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def photos(count: int = 6) -> list[bytes]:
    return [encoded(picture(40 + 9 * i, 70 - 6 * i, 3, i), quality=90) for i in range(count)]


def pipeline(device, *ops):
    ds = ps.Dataset.from_tensor_slices({"image": photos(), "label": np.arange(6)}).shuffle(seed=1)
    for op in (image.decode(device=device, exact=True), *ops):
        ds = ds.map(op, on="image")
    return ds.batch(3).with_options(ps.Options(seed=2))


def test_rows_order_and_draws_are_those_of_decoding_in_the_pipeline():
    ops = [image.random_resized_crop(16), image.random_flip(), image.random_crop(12), image.to_chw()]
    for epoch in range(2):
        pairs = list(
            zip(pipeline("cuda", *ops).iterator(epoch=epoch), pipeline(None, *ops).iterator(epoch=epoch), strict=True)
        )
        assert len(pairs) == 2
        for later, now in pairs:
            np.testing.assert_array_equal(later["label"], now["label"])
            np.testing.assert_array_equal(np.stack([each.decoded() for each in later["image"]]), now["image"])


def test_fused_and_single_operations_make_the_same_images():
    ops = [image.decode(device="cuda"), image.random_resized_crop(16), image.random_flip(), image.normalize(MEAN, STD)]
    fused = DeferredImage(tuple(ops), (5, 6, 7, 8))
    made = fused.run(photos(), np.array([3, 1, 4, 0, 5, 9]))
    for row, data, each in zip([3, 1, 4, 0, 5, 9], photos(), made, strict=True):
        value = data
        for op, key in zip(ops, fused.keys, strict=True):
            value = op(value, rng=row_generator(key, row))
        assert value == each


def test_explain_tells_where_images_are_decoded():
    plan = pipeline("cuda", image.random_resized_crop(16)).explain()
    assert "map(decode(exact=True, device='cuda') → random_resized_crop((16, 16)), on='image')" in plan
    assert (
        repr(pipeline("cuda", image.resize((8, 8)), image.to_chw()).element_spec)
        == "{'image': object[3], 'label': int64[3]}"
    )


def test_a_header_that_is_damaged_is_an_error_of_its_element():
    files = [*photos(2), photos(1)[0][:100], *photos(2)]
    ds = ps.Dataset.from_tensor_slices(files).map(image.decode(device="cuda")).map(image.resize((8, 8)))
    with pytest.raises(DecodeError) as caught:
        list(ds)
    assert "row 2" in "".join(caught.value.__notes__)
    assert len(list(ds.ignore_errors())) == 4


def test_a_crop_that_does_not_fit_is_an_error_of_its_element():
    ds = ps.Dataset.from_tensor_slices(photos()).map(image.decode(device="cuda")).map(image.crop(0, 0, 50, 10))
    with pytest.raises(ElementError, match="does not fit into an image of 40x70") as caught:
        list(ds)
    assert "row 0" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("value", ["a path", 3, None, b""])
def test_a_value_that_is_no_file_is_an_error_of_its_element(value):
    deferred = DeferredImage((image.decode(device="cuda"),), (0,))
    with pytest.raises(DecodeError) as caught:
        deferred.run([*photos(2), value], np.arange(3))
    assert caught.value.element == 2
