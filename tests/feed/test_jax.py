"""The feed to JAX: arrays on the CPU, over the memory of the batch where JAX takes it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import MissingDependencyError

NOTHING = Dataset.range(0)


def test_a_missing_jax_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "jax"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingDependencyError, match=r"to_jax\(\) needs jax.*penstock\[jax\]"):
        Dataset.range(3).to_jax()


def first(ds):
    return next(iter(ds.to_jax()))


def test_large_batches_share_their_memory():
    pytest.importorskip("jax")
    convert = Dataset.range(0).to_jax()._convert
    batch = next(iter(Dataset.from_tensor_slices(np.zeros((32, 1024), np.float32)).batch(16)))
    assert convert(batch).unsafe_buffer_pointer() == batch.ctypes.data


@pytest.mark.parametrize("dtype", ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "f2", "f4", "c8"])
def test_dtypes_are_kept(dtype):
    jax = pytest.importorskip("jax")
    data = np.arange(6).reshape(3, 2).astype(dtype)
    made = first(Dataset.from_tensor_slices(data).batch(3))
    assert isinstance(made, jax.Array)
    assert made.dtype == data.dtype
    np.testing.assert_array_equal(np.asarray(made), data)


@pytest.mark.parametrize(
    ("dtype", "narrow"), [("i8", "int32"), ("u8", "uint32"), ("f8", "float32"), ("c16", "complex64")]
)
def test_64_bit_types_are_narrowed_unless_enabled(dtype, narrow):
    jax = pytest.importorskip("jax")
    data = np.arange(6).reshape(3, 2).astype(dtype)
    ds = Dataset.from_tensor_slices(data).batch(3)
    assert first(ds).dtype == narrow
    with jax.experimental.enable_x64() if hasattr(jax.experimental, "enable_x64") else jax.enable_x64(True):
        made = first(ds)
        assert made.dtype == data.dtype
        np.testing.assert_array_equal(np.asarray(made), data)


def test_bfloat16_is_converted_to_jax():
    jax = pytest.importorskip("jax")
    data = np.array([[1.5, -2.0]], jax.numpy.bfloat16)
    made = first(Dataset.from_tensor_slices(data).batch(1))
    assert isinstance(made, jax.Array)
    assert made.tolist() == [[1.5, -2.0]]


@pytest.mark.parametrize(
    "array",
    [
        np.arange(8, dtype=np.float32)[::-1],
        np.arange(8, dtype=np.float32)[::2],
        np.frombuffer(bytes(range(33)), np.uint8)[1:].view(np.int32),
        np.float32(2),
        np.zeros((0, 3), np.float32),
    ],
)
def test_arrays_that_jax_cannot_share_are_copied(array):
    jax = pytest.importorskip("jax")
    made = first(Dataset.from_source([array]))
    assert isinstance(made, jax.Array)
    np.testing.assert_array_equal(np.asarray(made), array)


def test_an_array_that_is_kept_keeps_its_memory():
    pytest.importorskip("jax")
    data = np.arange(64 * 2048, dtype=np.float32).reshape(64, 2048)
    kept = list(Dataset.from_tensor_slices(data).batch(4).to_jax())
    np.testing.assert_array_equal(np.concatenate(kept), data)


def test_sparse_leaves_become_bcoo_and_ragged_ones_stay():
    pytest.importorskip("jax")
    rows = ps.Ragged.from_rows([[1], [2, 3]])
    ds = Dataset.from_tensor_slices({"r": rows, "s": ps.Sparse.from_dense(np.eye(2, dtype=np.float32))})
    (batch,) = ds.ragged_batch(2).to_jax()
    assert batch["r"] == rows
    assert batch["s"].todense().tolist() == np.eye(2).tolist()
