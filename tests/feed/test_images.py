"""Images that a feed decodes: the batch, the kernel compiled for the CPU, and the errors where there is no GPU."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import threading
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from penstock import image
from penstock.core.errors import DecodeError, ElementError, MissingDependencyError, PlanError
from penstock.feed import images
from penstock.feed.feed import FrameworkFeed
from penstock.feed.torch import OnDevice
from tests.feed import fake_cuda
from tests.feed.streams import FakeStreams
from tests.image.photos import encoded, picture

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SOURCE = Path(images.__file__).with_name("write_images.cu")

# What the kernel takes from CUDA, for a C++ compiler: one thread after another.
ON_CPU = """
#include <algorithm>
#include <cmath>
#define __device__
#define __global__
struct Three { int x, y, z; };
static Three blockIdx, threadIdx, blockDim{1, 1, 1};
using std::max, std::min;
static float __fadd_rn(float a, float b) { return a + b; }
static float __fmul_rn(float a, float b) { return a * b; }
#include "write_images.cu"
extern "C" void write_all(const Image* images, PIXEL* out, int count, int height, int width, const float* affine) {
  for (blockIdx.z = 0; blockIdx.z < count; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < height; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < width; ++blockIdx.x) write_images(images, out, height, width, affine);
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The kernel for options such as `("-DCHANNELS=3", ...)`, as a library for the CPU."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no C++ compiler")
    folder = tmp_path_factory.mktemp("kernels")
    (folder / "kernel.cc").write_text(ON_CPU)

    @cache
    def library(options: tuple[str, ...]) -> ctypes.CDLL:
        made = folder / f"{'_'.join(options)}.so"
        paths = [f"-I{SOURCE.parent}", "-o", str(made), str(folder / "kernel.cc")]
        command = [compiler, "-std=c++17", "-O1", "-ffp-contract=off", "-shared", "-fPIC", *options, *paths]
        subprocess.run(command, check=True, capture_output=True, text=True)
        return ctypes.CDLL(str(made))

    return library


@pytest.fixture
def decoder(compiled, monkeypatch) -> images.ImageDecoder:
    modules = {"cupy": fake_cuda.cupy(compiled), "nvidia.nvimgcodec": fake_cuda.codec}
    monkeypatch.setattr(images, "require", lambda module, **_: modules[module])
    return images.ImageDecoder(0, "to_torch()")


def written(decoder: images.ImageDecoder, leaf: np.ndarray) -> np.ndarray:
    batch = images.batch_of(leaf)
    out = np.full(batch.shape, 77, batch.dtype)
    decoder.write(batch, out.ctypes.data, 0)
    return out


def encoded_batch(files: list[bytes], *ops, row: int = 0) -> np.ndarray:
    """Return the column that a pipeline with these operations after `decode(device="cuda")` makes of files."""
    ds = ps.Dataset.from_tensor_slices(files)
    for op in ops:
        ds = ds.map(op)
    (batch,) = ds.batch(len(files)).with_options(ps.Options(seed=row))
    return batch


def photos(count: int = 6) -> list[bytes]:
    return [encoded(picture(40 + 9 * i, 70 - 6 * i, 3, i), quality=90) for i in range(count)]


CHAINS = [
    [image.center_crop((24, 20))],
    [image.random_crop(30), image.random_flip()],
    [image.random_flip(1.0), image.random_resized_crop((20, 33)), image.random_flip(1.0), image.center_crop((15, 20))],
    *(
        [image.random_resized_crop((17, 31), interpolation=interpolation, antialias=antialias), image.random_flip()]
        for interpolation in ("bilinear", "bicubic", "nearest")
        for antialias in (True, False)
    ),
    [image.resize((90, 120)), image.crop(11, 7, 60, 80), image.random_flip()],
    [image.resize((25, 26)), image.normalize(MEAN, STD), image.to_chw()],
    [image.center_crop(16), image.to_chw()],
]


@pytest.mark.parametrize("channels", [3, 1])
@pytest.mark.parametrize("ops", CHAINS, ids=lambda ops: "-".join(op.name for op in ops))
def test_the_kernel_writes_what_the_operations_make_one_after_another(decoder, ops, channels):
    ops = [op for op in ops if channels == 3 or op.name != "normalize"]
    leaf = encoded_batch(photos(), image.decode(device="cuda", channels=channels), *ops)
    made, expected = written(decoder, leaf), np.stack([each.decoded() for each in leaf])
    assert made.dtype == expected.dtype
    level = 1 / 255 / min(STD) if made.dtype == np.float32 else 1
    difference = np.abs(made.astype(np.float64) - expected)
    assert difference.max() <= level * 1.001
    resampled = any(op.name in ("resize", "random_resized_crop") for op in ops)
    assert (difference > level / 2).mean() < (0.02 if resampled else 1e-9)


def test_files_that_the_codec_refuses_or_that_are_no_jpeg_are_decoded_on_the_cpu(decoder):
    files = photos()
    files[1] = encoded(picture(50, 60, 3, 8), "PNG")
    decoder._idle[0].refuses = {files[4]}
    leaf = encoded_batch(files, image.decode(device="cuda"), image.random_resized_crop(24))
    made = written(decoder, leaf)
    for number in (1, 4):
        np.testing.assert_array_equal(made[number], leaf[number].decoded())


def test_a_damaged_file_that_the_codec_refuses_is_an_error(decoder):
    damaged = photos(1)[0][:-900]
    decoder._idle[0].refuses = {damaged}
    leaf = encoded_batch([damaged], image.decode(device="cuda"), image.resize((8, 8)))
    with pytest.raises(DecodeError, match="the JPEG image cannot be decoded"):
        written(decoder, leaf)


def test_a_turned_image_is_decoded_on_the_cpu(decoder):
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = encoded(picture(40, 60, 3, 1), exif=exif.tobytes(), quality=90)
    leaf = encoded_batch([turned], image.decode(device="cuda", exif=True))
    np.testing.assert_array_equal(written(decoder, leaf)[0], image.decode(exif=True)(turned))


def pipeline(device, *ops):
    ds = ps.Dataset.from_tensor_slices({"image": photos(), "label": np.arange(6)}).shuffle(seed=1)
    for op in (image.decode(device=device, exact=True), *ops):
        ds = ds.map(op, on="image")
    return ds.batch(3).with_options(ps.Options(seed=2))


def test_images_of_other_sizes_give_no_batch():
    leaf = encoded_batch(photos(2), image.decode(device="cuda"))
    with pytest.raises(ElementError, match=r"such as \(40, 70, 3\) and \(49, 64, 3\): add ps.image.resize or a crop"):
        images.batch_of(leaf)


def test_operations_in_another_order_are_refused():
    leaf = encoded_batch(photos(2), image.decode(device="cuda"), image.resize((30, 30)), image.resize((8, 8)))
    with pytest.raises(ElementError, match=r"not decode\(\) → resize\(\(30, 30\)\) → resize.*leave out device="):
        images.batch_of(leaf)


@pytest.mark.parametrize("to", ["to_torch", "to_jax"])
def test_a_feed_of_the_cpu_says_to_leave_out_the_device(to):
    pytest.importorskip(to.partition("_")[2])
    feed = getattr(pipeline("cuda", image.resize((8, 8))), to)()
    with pytest.raises(PlanError, match="this feed is for the CPU: leave out device= to decode on the CPU") as caught:
        next(iter(feed))
    assert any('["image"]' in note for note in caught.value.__notes__)


def test_a_device_that_decodes_no_images_is_refused():
    pytest.importorskip("torch")
    feed = pipeline("cuda", image.resize((8, 8))).to_torch("meta")
    with pytest.raises(PlanError, match="this feed is for meta: leave out device="):
        next(iter(feed))


def test_a_sharding_that_decodes_no_images_is_refused():
    jax = pytest.importorskip("jax")
    feed = pipeline("cuda", image.resize((8, 8))).to_jax(jax.local_devices(backend="cpu")[0])
    with pytest.raises(PlanError, match=r"this feed is for SingleDeviceSharding.*leave out device="):
        next(iter(feed))


def test_a_missing_codec_names_the_extra():
    if find_spec("nvidia") and find_spec("nvidia.nvimgcodec"):
        pytest.skip("nvImageCodec is installed")
    with pytest.raises(MissingDependencyError, match=r"to_torch\(\) of images from decode.*penstock\[cuda\]"):
        images.ImageDecoder(0, "to_torch()")


@pytest.mark.parametrize("device", ["cpu", "cuda:1", 0, True])
def test_other_devices_are_refused(device):
    with pytest.raises(ValueError, match="expected 'cuda', or None to decode on the CPU"):
        image.decode(device=device)


def on_a_thread(monkeypatch, made):
    """Return a feed's placement on fake streams, whose images become `made(leaf)`."""
    torch = pytest.importorskip("torch")
    placement = OnDevice(torch, torch.device("cpu"), None, FakeStreams(torch))
    monkeypatch.setattr(placement, "_opened", lambda: None)
    monkeypatch.setattr(placement, "_decoded", lambda leaf: made(torch, leaf))
    return placement


def test_batches_are_decoded_while_the_consumer_goes_on(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def made(torch, leaf):
        begun.set()
        assert go_on.wait(60)
        return torch.from_numpy(np.stack([each.decoded() for each in leaf]))

    placement = on_a_thread(monkeypatch, made)
    (first, _) = pipeline("cuda", image.resize((8, 8)))
    placed = placement.place([first])
    assert begun.wait(60)
    go_on.set()
    batch = placement.wait(placed)
    placement.release(placed)
    np.testing.assert_array_equal(batch["label"].numpy(), first["label"])
    np.testing.assert_array_equal(batch["image"].numpy(), np.stack([each.decoded() for each in first["image"]]))
    assert not [thread for thread in threading.enumerate() if thread.name == "penstock-images"]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_failure_in_a_thread_comes_after_the_batches_before_it_and_ends_the_pass(monkeypatch, depth):
    def made(torch, leaf):
        if any(each.data == files[4] for each in leaf):
            raise DecodeError("damaged")
        return torch.zeros(len(leaf))

    files = photos(8)
    ds = ps.Dataset.from_tensor_slices({"image": files}).map(image.decode(device="cuda"), on="image").batch(2)
    it = FrameworkFeed(ds, on_a_thread(monkeypatch, made), depth).iterator(epoch=0)
    assert [len(next(it)["image"]) for _ in range(2)] == [2, 2]
    with pytest.raises(DecodeError, match="damaged") as caught:
        next(it)
    assert any('["image"]' in note for note in caught.value.__notes__)
    if depth > 1:
        assert it.state_dict()["row"] == 2
    assert not [thread for thread in threading.enumerate() if thread.name == "penstock-images"]


def test_closing_waits_for_the_threads_of_batches_that_nobody_gets(monkeypatch):
    placement = on_a_thread(monkeypatch, lambda torch, leaf: torch.zeros(len(leaf)))
    it = FrameworkFeed(pipeline("cuda", image.resize((8, 8))), placement, 2).iterator()
    next(it)
    it.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "penstock-images"]
