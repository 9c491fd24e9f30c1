"""The feed to PyTorch: tensors over the memory of the batch."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import MissingDependencyError, PlanError
from penstock.feed.torch import tensor_of


def converter():
    return tensor_of(sys.modules.get("torch") or pytest.importorskip("torch"))


def test_a_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingDependencyError, match=r"to_torch\(\) needs torch.*penstock\[torch\]"):
        Dataset.range(3).to_torch()


def test_arrays_that_torch_cannot_share_are_copied(monkeypatch):
    # A stand-in that is as strict as torch.from_numpy, for machines without it.
    def from_numpy(array):
        assert array.flags.writeable
        assert array.dtype.isnative
        assert min(array.strides, default=0) >= 0
        return array

    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(from_numpy=from_numpy))
    convert = converter()
    batch = np.arange(6.0)
    assert convert(batch) is batch
    for array in (batch[::-1], batch.astype(">f8"), np.frombuffer(batch.tobytes()), np.zeros((0, 2))):
        made = convert(array)
        assert not np.shares_memory(made, batch)
        np.testing.assert_array_equal(made, array)


def test_batches_become_tensors_over_the_same_memory():
    torch = pytest.importorskip("torch")
    convert = converter()
    for batch in Dataset.from_tensor_slices(np.arange(40, dtype=np.float32).reshape(10, 4)).batch(4):
        tensor = convert(batch)
        assert tensor.data_ptr() == batch.ctypes.data
        assert tensor.dtype == torch.float32
        tensor.add_(1)
        assert batch[0, 0] == tensor[0, 0]


@pytest.mark.parametrize(
    "dtype", ["bool", "u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "c8", "c16", "u2", "u4", "u8"]
)
def test_dtypes_are_kept(dtype):
    torch = pytest.importorskip("torch")
    data = np.arange(6).reshape(3, 2).astype(dtype)
    (batch,) = list(Dataset.from_tensor_slices(data).batch(3).to_torch())
    assert isinstance(batch, torch.Tensor)
    np.testing.assert_array_equal(batch.numpy(), data)
    assert batch.numpy().dtype == data.dtype


def test_bfloat16_is_converted_to_torch():
    torch = pytest.importorskip("torch")
    ml_dtypes = pytest.importorskip("ml_dtypes")
    data = np.array([[1.5, -2.0]], ml_dtypes.bfloat16)
    (batch,) = list(Dataset.from_tensor_slices(data).batch(1).to_torch())
    assert batch.dtype == torch.bfloat16
    assert batch.tolist() == [[1.5, -2.0]]


def test_elements_that_are_views_of_the_source_are_copied():
    pytest.importorskip("torch")
    data = np.zeros((3, 2))
    for tensor in Dataset.from_tensor_slices(data).to_torch():
        tensor.add_(1)
    assert data.sum() == 0


def test_a_tensor_that_is_kept_keeps_its_memory():
    torch = pytest.importorskip("torch")
    data = np.arange(64 * 2048, dtype=np.float32).reshape(64, 2048)
    kept = list(Dataset.from_tensor_slices(data).batch(4).to_torch())
    np.testing.assert_array_equal(torch.cat(kept).numpy(), data)


def test_structures_and_text_are_kept():
    torch = pytest.importorskip("torch")
    ds = Dataset.from_tensor_slices({"x": np.zeros((4, 2)), "name": list("abcd")}).batch(2)
    for batch in ds.to_torch():
        assert list(batch) == ["x", "name"]
        assert isinstance(batch["x"], torch.Tensor)
        assert isinstance(batch["name"], np.ndarray)


ROWS = ps.Ragged.from_rows([[1.5], [], [2.5, 3.5]])
UNEVEN = Dataset.from_tensor_slices(
    {"r": ROWS, "s": ps.Sparse.from_dense(np.eye(3, dtype=np.float32)), "t": ps.Ragged.from_rows([["a"], [], ["b"]])}
)


def test_ragged_and_sparse_leaves_become_torch_tensors():
    torch = pytest.importorskip("torch")
    (batch,) = UNEVEN.ragged_batch(3).to_torch()
    assert batch["r"].layout == torch.jagged
    assert [row.tolist() for row in batch["r"].unbind()] == ROWS.tolist()
    assert batch["s"].is_sparse
    assert batch["s"].to_dense().tolist() == np.eye(3).tolist()
    assert batch["t"] == ps.Ragged.from_rows([["a"], [], ["b"]])  # text has no tensor
    (deep,) = UNEVEN.ragged_batch(1).batch(3).to_torch()
    assert isinstance(deep["r"], ps.Ragged)  # several ragged dimensions


def test_micro_batches_of_ragged_and_sparse_rows_are_tensors_of_their_own():
    pytest.importorskip("torch")
    rows = Dataset.range(1, 5).map(np.arange)
    ((first, second),) = rows.ragged_batch(4).to_torch(micro_batches=2)
    assert [[row.tolist() for row in part.unbind()] for part in (first, second)] == [
        [[0], [0, 1]],
        [[0, 1, 2], [0, 1, 2, 3]],
    ]
    ((first, second),) = rows.sparse_batch(4, row_shape=(4,)).to_torch(micro_batches=2)
    assert first.to_dense().tolist() == [[0, 0, 0, 0], [0, 1, 0, 0]]
    assert second.to_dense().tolist() == [[0, 1, 2, 0], [0, 1, 2, 3]]


def test_batches_that_cannot_be_stacked_or_cut_are_refused_before_the_first_step():
    pytest.importorskip("torch")
    ds = Dataset.range(21).batch(4)
    with pytest.raises(PlanError, match=r"steps=2 stacks .*, but the last batch of an epoch has 1 row"):
        ds.prefetch(2).to_torch(steps=2)
    with pytest.raises(PlanError, match=r"micro_batches=3 cuts batches into 3 parts, but the last batch .* has 1 row:"):
        ds.to_torch(micro_batches=3)
    with pytest.raises(PlanError, match="split=True cuts batches into 3 parts"):
        ds.to_torch(["cpu"] * 3, split=True)
    assert [len(stack) for stack in ds.to_torch(steps=5)] == [5, 1]
    with pytest.raises(PlanError, match="steps=5"):
        ds.repeat(2).to_torch(steps=5)


def test_a_leaf_that_torch_does_not_have_is_named():
    pytest.importorskip("torch")
    ds = Dataset.from_tensor_slices({"a": np.arange(3), "w": np.ones(3, np.longdouble)}).batch(1)
    for device in (None, "meta"):
        with pytest.raises(TypeError, match=r"longdouble|float128") as caught:
            list(ds.to_torch(device))
        assert [note[:23] for note in caught.value.__notes__] == ['while converting ["w"],']


@pytest.mark.parametrize("options", [{"dtype": "bfloat16"}, {"requires_grad": True}])
def test_a_tensor_that_cannot_become_an_array_is_named(options):
    torch = pytest.importorskip("torch")
    given = {name: getattr(torch, value) if name == "dtype" else value for name, value in options.items()}
    tensors = Dataset.range(4).map(lambda n: {"x": torch.ones(2, **given), "y": n})
    for ds in (tensors.batch(2), tensors.filter(lambda _: True).batch(2)):
        with pytest.raises((TypeError, RuntimeError), match=r"BFloat16|requires grad") as caught:
            list(ds.to_torch())
        told = [note for note in caught.value.__notes__ if "the Tensor of " in note]
        assert len(told) == 1, caught.value.__notes__
        assert "batch: " in told[0]
        assert 'at ["x"] cannot become an array; map() it to one that NumPy can view' in told[0]


def test_an_error_in_finish_says_so():
    pytest.importorskip("torch")
    with pytest.raises(TypeError) as caught:
        list(Dataset.range(8).batch(2).to_torch(finish=lambda batch: batch["x"]))
    assert caught.value.__notes__ == ["in to_torch(finish=lambda)"]


# Within PyTorch's own DataLoader


@pytest.fixture
def data():
    return pytest.importorskip("torch").utils.data


def tens():
    return Dataset.range(40).shuffle(seed=0).batch(10)


def test_a_dataloader_yields_the_elements_of_the_feed_in_every_epoch(data):
    loader = data.DataLoader(tens().to_torch(), batch_size=None)
    assert len(loader) == 4
    reference = tens().to_torch()
    for _ in range(3):
        assert [batch.tolist() for batch in loader] == [batch.tolist() for batch in reference]


def test_a_loop_over_a_dataloader_continues_from_the_state_of_the_feed(data):
    feed = tens().to_torch()
    loader = data.DataLoader(feed, batch_size=None)
    whole = [batch.tolist() for epoch in range(2) for batch in tens().to_torch().iterator(epoch=epoch)]
    it = iter(loader)
    received = [next(it).tolist()]
    again = tens().to_torch()
    again.load_state_dict(feed.state_dict())
    restored = data.DataLoader(again, batch_size=None)
    assert received + [batch.tolist() for _ in range(2) for batch in restored] == whole


@pytest.mark.parametrize(
    ("ds", "workers", "times", "begun"),
    [
        (tens(), 2, 2, "fork"),
        (tens().shard_by_rank(rank=0, world=1), 2, 2, "fork"),
        (tens(), 1, 1, "spawn"),
    ],
)
def test_workers_of_a_dataloader_warn_of_what_comes_again(data, tmp_path, ds, workers, times, begun):
    log = tmp_path / "warnings"
    loader = data.DataLoader(
        ds.to_torch(),
        batch_size=None,
        num_workers=workers,
        multiprocessing_context=begun,
        worker_init_fn=Noting(str(log)),
    )
    assert sorted(x for batch in loader for x in batch.tolist()) == sorted([*range(40)] * times)
    assert log.read_text().split() == ["PS501"] * workers


class Noting:
    def __init__(self, path):
        self.path = path

    def __call__(self, worker):
        warnings.simplefilter("always")
        warnings.showwarning = self.note

    def note(self, message, *_):
        with open(self.path, "a") as log:
            log.write(f"{message.code}\n")


def test_a_dataset_read_row_by_row_warns(data):
    sampler = data.DistributedSampler(range(40), num_replicas=2, rank=0)
    with pytest.warns(ps.PlanWarning, match="PS502: .* instead of a DistributedSampler"):
        rows = list(data.DataLoader(Dataset.range(40), sampler=sampler, batch_size=None))
    assert len(rows) == 20
