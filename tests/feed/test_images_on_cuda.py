"""Images that a feed decodes on a CUDA device: the same rows, boxes and order, and nearly the same pixels."""

from __future__ import annotations

import importlib.util
from ctypes.util import find_library

import numpy as np
import pytest

import penstock as ps
from penstock import image
from penstock.core.errors import ElementError
from tests.image.photos import encoded, picture

for module in ("nvidia", "nvidia.nvimgcodec", "cupy"):
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed", allow_module_level=True)
if find_library("cuda") is None:
    pytest.skip("there is no CUDA driver", allow_module_level=True)
torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("there is no CUDA device", allow_module_level=True)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def photo(number: int, **options) -> bytes:
    pixels = picture(90 + 3 * (number % 7), 120 - 4 * (number % 5), 3, number)
    return encoded(pixels, **({"quality": 92, "subsampling": 0} | options))


def elements(count: int = 24, **options) -> dict[str, object]:
    return {"image": [photo(i, **options) for i in range(count)], "label": np.arange(count)}


def pipeline(device, *ops, files=None, batch: int = 8, **options):
    ds = ps.Dataset.from_tensor_slices(files or elements()).shuffle(seed=1)
    for op in (image.decode(device=device, exact=True, **options), *ops):
        ds = ds.map(op, on="image")
    return ds.batch(batch).with_options(ps.Options(seed=2))


def numpy_of(feed):
    return [(batch["image"].cpu().numpy(), batch["label"].cpu().numpy()) for batch in feed]


def check(found, expected, mean: float, most: float) -> None:
    assert len(found) == len(expected)
    for (pixels, labels), (own, own_labels) in zip(found, expected, strict=True):
        np.testing.assert_array_equal(labels, own_labels)
        assert pixels.dtype == own.dtype
        assert pixels.shape == own.shape
        gap = np.abs(pixels.astype(np.float64) - own)
        assert gap.mean() <= mean
        assert gap.max() <= most


CHAINS = [
    [image.random_crop((64, 72)), image.random_flip()],
    [image.random_resized_crop((48, 56)), image.random_flip()],
    [image.random_resized_crop(40, interpolation="bicubic", antialias=False)],
    [image.resize((60, 50), interpolation="nearest"), image.center_crop(40)],
]


@pytest.mark.parametrize("ops", CHAINS, ids=lambda ops: "-".join(op.name for op in ops))
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_batches_are_those_of_the_cpu(ops, depth):
    found = numpy_of(pipeline("cuda", *ops).to_torch("cuda", depth=depth))
    check(found, numpy_of(pipeline(None, *ops).to_torch()), mean=1.0, most=16)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_normalization_and_channels_first_run_on_the_device(dtype):
    ops = [image.random_resized_crop(48), image.normalize(MEAN, STD, dtype=dtype), image.to_chw()]
    found = numpy_of(pipeline("cuda", *ops).to_torch("cuda"))
    level = 1 / 255 / min(STD)
    check(found, numpy_of(pipeline(None, *ops).to_torch()), mean=1.0 * level, most=16.1 * level)


@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_chroma_at_lower_resolution_is_interpolated(subsampling):
    files = elements(subsampling=subsampling)
    ops = [image.center_crop(64)]
    found = numpy_of(pipeline("cuda", *ops, files=files).to_torch("cuda"))
    check(found, numpy_of(pipeline(None, *ops, files=files).to_torch()), mean=3.0, most=80)


def test_luma():
    ops = [image.center_crop(64)]
    found = numpy_of(pipeline("cuda", *ops, channels=1).to_torch("cuda"))
    check(found, numpy_of(pipeline(None, *ops, channels=1).to_torch()), mean=1.0, most=8)


def test_files_that_the_device_does_not_decode_are_decoded_on_the_cpu():
    files = elements(8)
    files["image"][2] = encoded(picture(90, 100, 3, 7), "PNG")
    files["image"][5] = encoded(picture(90, 100, 3, 8), mode="CMYK", quality=90)
    files["image"][6] = encoded(picture(90, 100, 1, 9), quality=90)
    ops = [image.random_resized_crop(40)]
    found = numpy_of(pipeline("cuda", *ops, files=files).to_torch("cuda"))
    expected = numpy_of(pipeline(None, *ops, files=files).to_torch())
    check(found, expected, mean=1.0, most=60)
    (pixels, labels), (own, _) = found[0], expected[0]
    at = labels.tolist().index(2)
    np.testing.assert_array_equal(pixels[at], own[at])


def test_progressive_files():
    files = elements(8, progressive=True)
    ops = [image.center_crop(64)]
    found = numpy_of(pipeline("cuda", *ops, files=files).to_torch("cuda"))
    check(found, numpy_of(pipeline(None, *ops, files=files).to_torch()), mean=1.0, most=16)


def test_a_saved_position_goes_on_with_the_same_batches():
    ops = [image.random_resized_crop(32), image.random_flip()]
    feed = pipeline("cuda", *ops, batch=4).to_torch("cuda", depth=3)
    whole = numpy_of(feed.iterator(epoch=0))
    first = feed.iterator(epoch=0)
    begun = numpy_of([next(first), next(first)])
    state = first.state_dict()
    first.close()
    second = feed.iterator(epoch=0)
    second.load_state_dict(state)
    check(begun + numpy_of(second), whole, mean=0, most=0)


def test_batches_that_are_kept_do_not_change():
    feed = pipeline("cuda", image.random_resized_crop(64), batch=2).to_torch("cuda", depth=2)
    kept = list(feed.iterator(epoch=0))
    again = numpy_of(feed.iterator(epoch=0))
    check(numpy_of(kept), again, mean=0, most=0)


def test_finish_and_micro_batches_get_pixels():
    feed = pipeline("cuda", image.center_crop(32)).to_torch(
        "cuda", micro_batches=2, finish=lambda batch: {**batch, "image": batch["image"].float() / 255}
    )
    parts = next(iter(feed))
    assert [tuple(part["image"].shape) for part in parts] == [(4, 32, 32, 3)] * 2
    assert parts[0]["image"].dtype == torch.float32
    assert 0 < parts[0]["image"].mean() < 1


def test_an_element_without_a_batch():
    ds = ps.Dataset.from_tensor_slices([photo(1)]).map(image.decode(device="cuda"))
    (made,) = ds.to_torch("cuda")
    assert made.shape == image.decode()(photo(1)).shape


def test_other_sizes_in_one_batch_are_an_error():
    with pytest.raises(ElementError, match=r"different shapes, such as \(90, .* add ps.image.resize or a crop"):
        next(iter(pipeline("cuda").to_torch("cuda")))


def test_jax():
    jax = pytest.importorskip("jax")
    device = jax.local_devices(backend="gpu")[0]
    ops = [image.random_resized_crop((48, 56)), image.random_flip()]
    batches = [
        (np.asarray(batch["image"]), np.asarray(batch["label"])) for batch in pipeline("cuda", *ops).to_jax(device)
    ]
    check(batches, numpy_of(pipeline(None, *ops).to_torch()), mean=1.0, most=16)
