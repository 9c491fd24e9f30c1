"""Many arrays of a batch travel as one array of bytes, and are split on the device."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.dataset.dataset import Dataset
from penstock.feed.byte_splits import ByteSplits


def test_many_arrays_travel_as_one_once_their_layout_recurs():
    jax = pytest.importorskip("jax")
    device = jax.devices()[0]
    splits = ByteSplits(jax, jax.sharding.SingleDeviceSharding(device))
    kinds = ["bool", "uint8", "int8", "int16", "int32", "uint32", "float16", "float32", jax.numpy.bfloat16]
    rng = np.random.default_rng(0)
    batches = [[rng.integers(0, 2, (3, 2)).astype(kind) for kind in kinds] for _ in range(3)]
    assert splits.placed(batches[0]) is None
    for batch in batches[1:]:
        made = splits.placed(batch)
        for array, its in zip(batch, made, strict=True):
            assert its.dtype == array.dtype
            np.testing.assert_array_equal(np.asarray(its), array)
    assert splits.placed([array[:2] for array in batches[0]]) is None  # another layout
    assert splits.placed(batches[0][:3]) is None  # too few
    assert splits.placed([np.zeros(2, np.complex64)] * 4) is None


def test_a_feed_of_many_columns_moves_each_batch_at_once(monkeypatch):
    jax = pytest.importorskip("jax")
    device = jax.devices()[0]
    data = {f"c{i}": np.arange(20 * (i + 1), dtype=np.int32).reshape(20, i + 1) for i in range(6)}
    ds = Dataset.from_tensor_slices(data).shuffle(seed=0).batch(4)
    feed = ds.to_jax(device, depth=2)
    feed._placement._splits = ByteSplits(jax, jax.sharding.SingleDeviceSharding(device))
    puts, put = [], jax.device_put
    monkeypatch.setattr(jax, "device_put", lambda array, *where: puts.append(array.dtype.name) or put(array, *where))
    for epoch in range(2):
        for want, batch in zip(ds.iterator(epoch=epoch), feed.iterator(epoch=epoch), strict=True):
            assert {name: leaf.tolist() for name, leaf in batch.items()} == {n: a.tolist() for n, a in want.items()}
    assert puts == ["int32"] * 6 + ["uint8"] * 9  # the first batch shows the layout
