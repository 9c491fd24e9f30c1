"""The feed to JAX: arrays on the CPU, over the memory of the batch where JAX takes it."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError, MissingDependencyError, PlanError
from penstock.feed.jax import jax_array_of


def test_a_missing_jax_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "jax"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(MissingDependencyError, match=r"to_jax\(\) needs jax.*penstock\[jax\]"):
        Dataset.range(3).to_jax()


def first(ds):
    return next(iter(ds.to_jax()))


def test_large_batches_share_their_memory():
    convert = jax_array_of(pytest.importorskip("jax"))
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


def test_sparse_leaves_become_bcoo_and_ragged_ones_pytrees_of_values_and_splits():
    jax = pytest.importorskip("jax")
    rows = ps.Ragged.from_rows([[1.0], [2.0, 3.0]])
    ds = Dataset.from_tensor_slices({"r": rows, "s": ps.Sparse.from_dense(np.eye(2, dtype=np.float32))})
    for target in (None, jax.devices()[0]):
        (batch,) = ds.ragged_batch(2).to_jax(target)
        assert [leaf.tolist() for leaf in jax.tree.leaves(batch["r"])] == [[1, 2, 3], [0, 1, 3]]
        sums = jax.jit(
            lambda r: jax.ops.segment_sum(
                r.flat_values,
                jax.numpy.repeat(jax.numpy.arange(2), r.row_splits[1:] - r.row_splits[:-1], total_repeat_length=3),
                2,
            )
        )(batch["r"])
        assert sums.tolist() == [1, 5]
        assert isinstance(jax.tree.map(lambda x: x + 1, batch["r"]), ps.Ragged)
        assert batch["s"].todense().tolist() == np.eye(2).tolist()


def test_rows_in_rows_are_a_pytree_too():
    jax = pytest.importorskip("jax")
    deep = ps.Ragged.from_rows([[[1], [2, 3]], [[4]]])
    (batch,) = Dataset.from_tensor_slices({"r": deep}).ragged_batch(2).to_jax("cpu")
    assert [leaf.tolist() for leaf in jax.tree.leaves(batch)] == [part.tolist() for part in deep.arrays()]
    keys = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(batch)]
    assert keys == ["['r'].flat_values", "['r'].row_splits[0]", "['r'].row_splits[1]"]


@pytest.mark.parametrize("target", [None, "cpu"])
def test_an_integer_that_jax_would_wrap_around_is_refused(target):
    pytest.importorskip("jax")
    data = {"id": np.array([1, (1 << 40) + 5])}
    told = r"to_jax\(\): an array has 1099511627781 at \[1\], which JAX would wrap .* int32: set jax_enable_x64"
    with pytest.raises(ElementError, match=told) as caught:
        list(Dataset.from_tensor_slices(data).batch(2).to_jax(target))
    assert caught.value.__notes__ == ['while converting ["id"], which is int64[2]']


@pytest.mark.parametrize("target", [None, "cpu"])
@pytest.mark.parametrize("value", [1e300, complex(0, -1e300), complex(np.inf, 1e300)])
def test_a_number_that_jax_would_turn_into_infinity_is_refused(target, value):
    pytest.importorskip("jax")
    data = {"w": np.array([np.inf, np.nan, 1e-300, value])}
    with pytest.raises(ElementError, match=r"has .*1e\+300.* at \[3\], which JAX would turn into infinity as "):
        list(Dataset.from_tensor_slices(data).batch(4).to_jax(target))
    (batch,) = Dataset.from_tensor_slices({"w": data["w"][:3]}).batch(3).to_jax(target)
    np.testing.assert_array_equal(batch["w"], np.array([np.inf, np.nan, 0], batch["w"].dtype))


@pytest.mark.parametrize("target", [None, "cpu"])
def test_sparse_and_ragged_values_that_do_not_fit_are_refused(target):
    pytest.importorskip("jax")
    rows = Dataset.range(1, 3).map(lambda n: np.full(n, 1 << 40))
    for ds in (rows.ragged_batch(2), rows.sparse_batch(2, row_shape=(4,))):
        with pytest.raises(ElementError, match="wrap around to fit int32") as caught:
            list(ds.to_jax(target))
        assert "while converting the batch" in caught.value.__notes__[0]


def test_micro_batches_of_uneven_rows_and_a_missing_batch():
    jax = pytest.importorskip("jax")
    rows = Dataset.range(1, 5).map(np.arange)
    for target in (None, jax.devices()[0]):
        ((_, second),) = rows.ragged_batch(4).to_jax(target, micro_batches=2)
        assert [row.tolist() for row in second] == [[0, 1, 2], [0, 1, 2, 3]]
        ((_, second),) = rows.sparse_batch(4, row_shape=(4,)).to_jax(target, micro_batches=2)
        assert second.todense().tolist() == [[0, 1, 2, 0], [0, 1, 2, 3]]
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
    divided = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("data"))
    with pytest.raises(ElementError, match=r"which is int32\[\]: it has no rows; make batches first, with batch\(\)"):
        next(iter(Dataset.range(4).to_jax(divided)))


def test_an_error_in_a_compiled_finish_says_so():
    jax = pytest.importorskip("jax")
    with pytest.raises(TypeError) as caught:
        list(Dataset.range(4).batch(2).to_jax(finish=jax.jit(lambda batch: batch + "x")))
    assert caught.value.__notes__[-1].startswith("in to_jax(finish=")


def test_a_target_that_does_not_exist_is_refused():
    pytest.importorskip("jax")
    with pytest.raises(PlanError, match=r"to_jax\('tpu'\): JAX has no such device here .*; it has "):
        Dataset.range(3).to_jax("tpu")
    with pytest.raises(PlanError, match=r"to_jax\(7\): expected a sharding or a device"):
        Dataset.range(3).to_jax(7)


def test_batches_may_be_donated():
    jax = pytest.importorskip("jax")
    data = np.arange(64 * 2048, dtype=np.float32).reshape(64, 2048)
    step = jax.jit(lambda batch: batch * 2, donate_argnums=0)
    feed = Dataset.from_tensor_slices(data).shuffle(seed=0).batch(8).to_jax(jax.devices()[0], depth=3)
    for _ in range(2):
        made = [np.asarray(step(batch)) for batch in feed]
        np.testing.assert_array_equal(np.concatenate(made).sum(), 2 * data.sum())
    np.testing.assert_array_equal(data[:, 0], np.arange(64) * 2048)


def run_with_devices(script, *arguments, devices=4):
    environment = {
        **os.environ,
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        "JAX_PLATFORMS": "cpu",
    }
    command = [sys.executable, os.path.join(os.path.dirname(__file__), script), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_batches_are_divided_over_four_devices():
    pytest.importorskip("jax")
    out, error = run_with_devices("four_devices.py").communicate(timeout=100)
    assert out == "done\n", error


def test_the_parts_of_two_processes_are_one_global_batch():
    pytest.importorskip("jax")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    both = [run_with_devices("two_processes.py", port, rank, devices=2) for rank in range(2)]
    results = [each.communicate(timeout=100) for each in both]
    assert all(out.endswith("done\n") for out, _ in results), results
