"""The feed of a GPU by JAX: batches lie in pinned memory, and none changes while it is on its way."""

from __future__ import annotations

import ctypes
from ctypes.util import find_library

import numpy as np
import pytest

import penstock as ps

if find_library("cuda") is None:
    pytest.skip("there is no CUDA driver", allow_module_level=True)
jax = pytest.importorskip("jax")
if all(device.platform != "gpu" for device in jax.devices()):
    pytest.skip("there is no CUDA device", allow_module_level=True)

IMAGES = np.random.default_rng(0).integers(0, 255, (512, 64, 64, 3), dtype=np.uint8)


def dataset():
    data = {"image": IMAGES, "label": np.arange(512, dtype=np.int32)}
    return ps.Dataset.from_tensor_slices(data).shuffle(seed=1).batch(64)


def test_batches_lie_in_pinned_memory():
    feed = dataset().to_jax("gpu")
    made = feed._placement.allocate(1 << 20)
    flags = ctypes.c_uint()
    assert ctypes.CDLL("libcuda.so.1").cuMemHostGetFlags(ctypes.byref(flags), ctypes.c_void_p(made.ctypes.data)) == 0
    assert flags.value & 1


@pytest.mark.parametrize(
    "options", [{}, {"executor": "threads", "workers": 4}, {"executor": "processes", "workers": 2}]
)
@pytest.mark.parametrize("depth", [1, 3])
def test_batches_on_the_device_are_those_of_the_host(options, depth):
    ds = dataset().with_options(ps.Options(**options))
    feed = ds.to_jax("gpu", depth=depth)
    for epoch in range(3):
        kept = list(feed.iterator(epoch=epoch))
        for want, batch in zip(dataset().iterator(epoch=epoch), kept, strict=True):
            np.testing.assert_array_equal(np.asarray(batch["image"]), want["image"])
            np.testing.assert_array_equal(np.asarray(batch["label"]), want["label"])


def test_many_columns_travel_in_one_transfer_out_of_their_block():
    columns = {f"c{i}": np.arange(512 * (i + 1), dtype=np.int32).reshape(512, i + 1) for i in range(8)}
    ds = ps.Dataset.from_tensor_slices(columns).shuffle(seed=1).batch(64)
    for want, batch in zip(ds.iterator(epoch=0), ds.to_jax("gpu").iterator(epoch=0), strict=True):
        assert {name: np.asarray(leaf).tolist() for name, leaf in batch.items()} == {
            name: array.tolist() for name, array in want.items()
        }
