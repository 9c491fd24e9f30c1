"""Data that stays on a device comes in the dataset's order, in every epoch."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import BudgetError, ElementError, PlanError

DATA = {"x": np.arange(46, dtype=np.float32).reshape(23, 2), "y": np.arange(23)}


def devices():
    """A device of each framework that is there, and the function that makes NumPy's arrays of its batches."""
    torch = pytest.importorskip("torch")
    jax = pytest.importorskip("jax")
    here = [("cpu", lambda leaf: leaf.numpy(force=True)), (jax.devices()[0], np.asarray)]
    return here + ([("cuda", here[0][1])] if torch.cuda.is_available() else [])


def double(element):
    return {"x": 2 * element["x"], "y": element["y"]}


PLANS = [
    Dataset.from_tensor_slices(DATA).batch(5),
    Dataset.from_tensor_slices(DATA).shuffle(seed=1).batch(5, drop_remainder=True),
    Dataset.from_tensor_slices(DATA).shuffle(seed=1).map(double).batch(4).prefetch(2),
    Dataset.from_tensor_slices(DATA).map(double).shuffle(seed=4).repeat(2).skip(3).take(30).shard(2, 1).batch(4),
    Dataset.from_tensor_slices(DATA).shuffle(7).batch(4).shuffle(seed=2).take(3),
    Dataset.range(23).shuffle(seed=0).batch(4).repeat(2),
]


@pytest.mark.parametrize("ds", PLANS, ids=str)
def test_batches_are_those_of_the_dataset_in_every_epoch(ds):
    for device, to_numpy in devices():
        data = ps.feed.resident(ds, device)
        assert len(data) == len(ds)
        for epoch in range(3):
            wanted, made = list(ds.iterator(epoch=epoch)), list(data.iterator(epoch=epoch))
            assert len(made) == len(wanted)
            for want, batch in zip(wanted, made, strict=True):
                for name in ("x", "y") if isinstance(want, dict) else (None,):
                    leaf, its = (want, batch) if name is None else (want[name], batch[name])
                    np.testing.assert_array_equal(to_numpy(its), leaf)


def test_a_state_is_that_of_the_dataset():
    ds = Dataset.from_tensor_slices(DATA).shuffle().batch(4)
    for device, to_numpy in devices():
        wanted = [batch["y"].tolist() for batch in ds.iterator(epoch=0)]
        it = ps.feed.resident(ds, device).iterator(epoch=0)
        next(it), next(it)
        state = it.state_dict()
        assert state["row"] == 2
        with ds.iterator() as plain:
            plain.load_state_dict(state)
            assert [batch["y"].tolist() for batch in plain] == wanted[2:]
        data = ps.feed.resident(Dataset.from_tensor_slices(DATA).shuffle().batch(4), device)
        data.load_state_dict(state)
        assert [to_numpy(batch["y"]).tolist() for batch in data] == wanted[2:]
        assert data.epoch == 1


def test_passes_are_those_of_the_dataset():
    ds = Dataset.from_tensor_slices(DATA).shuffle(seed=0).batch(4)
    data = ps.feed.resident(ds, "cpu") if pytest.importorskip("torch") else None
    list(data)
    assert [batch["y"].tolist() for batch in ds] == [batch["y"].tolist() for batch in ds.iterator(epoch=1)]
    assert data.epoch == 2


def test_maps_run_once_and_finish_on_every_batch():
    torch = pytest.importorskip("torch")
    calls = []

    def noted(element):
        calls.append(1)
        return element

    ds = Dataset.from_tensor_slices(DATA).shuffle(seed=0).map(noted).batch(4)
    data = ps.feed.resident(ds, "cpu", finish=lambda batch: batch["x"].half())
    made = len(calls)
    assert [batch.dtype for epoch in range(2) for batch in data] == [torch.float16] * 12
    assert len(calls) == made
    assert data.nbytes == 46 * 4 + 23 * 8


def test_an_epoch_is_one_compiled_scan():
    jax = pytest.importorskip("jax")
    ds = Dataset.from_tensor_slices(DATA).shuffle(seed=0).batch(4, drop_remainder=True)
    data = ps.feed.resident(ds, jax.devices()[0], finish=lambda batch: {**batch, "x": batch["x"] / 2})
    traced = []

    def step(total, batch):
        traced.append(1)
        return total + batch["x"].sum(), batch["y"]

    for epoch in range(2):
        total, labels = data.scan(step, 0.0)
        wanted = list(ds.iterator(epoch=epoch))
        assert labels.tolist() == [batch["y"].tolist() for batch in wanted]
        assert float(total) == sum(batch["x"].sum() for batch in wanted) / 2
    assert len(traced) == 1
    assert data.epoch == 2


def test_a_scan_needs_batches_of_one_size_and_jax():
    jax = pytest.importorskip("jax")
    ds = Dataset.from_tensor_slices(DATA).batch(4)
    with pytest.raises(PlanError, match=r"the last batch has 3 rows, not 4; .*drop_remainder=True"):
        ps.feed.resident(ds, jax.devices()[0]).scan(lambda carry, batch: (carry, None), 0)
    pytest.importorskip("torch")
    with pytest.raises(PlanError, match="compiles an epoch with JAX"):
        ps.feed.resident(ds.take(2), "cpu").scan(lambda carry, batch: (carry, None), 0)


@pytest.mark.parametrize(
    ("ds", "says"),
    [
        (Dataset.range(4), "has to end in batch"),
        (Dataset.range(4).batch(3, remainder="pad"), "without padding"),
        (Dataset.range(9).filter(lambda x: True).batch(2), "makes a stream"),
        (
            Dataset.range(9).map(lambda x, *, rng: x).batch(2),
            r"moved to the device only once, but map\(lambda\) draws anew in each epoch; let it work .* as finish=",
        ),
        (
            Dataset.range(9).shuffle(seed=1).cache().batch(2),
            r"but shuffle\(seed=1\) reorders the input of cache\(\) in each epoch; write it after cache\(\)",
        ),
        (
            Dataset.zip(Dataset.range(8), Dataset.random(seed=1, rerandomize_each_iteration=True)).batch(2),
            r"but random\(seed=1\) makes other elements in each epoch",
        ),
        (Dataset.range(8).batch(2).map(lambda x: x), r"map\(lambda\) comes after batch\(\): write it before"),
        (Dataset.range(8).shuffle(seed=0).batch(2).batch(2), r"reorders the input of batch\(2\) in each epoch"),
        (Dataset.from_tensor_slices({"name": ["a", "b"]}).batch(2), r'\["name"\] is str, .* leave it out with map'),
        (Dataset.range(0).batch(2), "has no elements"),
    ],
    ids=str,
)
def test_what_cannot_be_moved_is_refused(ds, says):
    pytest.importorskip("torch")
    with pytest.raises(PlanError, match=says):
        ps.feed.resident(ds, "cpu")


def test_numbers_that_do_not_fit_and_errors_in_finish_are_named():
    jax = pytest.importorskip("jax")
    with pytest.raises(ElementError, match=r"^resident\(\): an array has 1099511627776 at \[1\]") as caught:
        ps.feed.resident(Dataset.from_tensor_slices({"id": np.array([1, 1 << 40])}).batch(2), jax.devices()[0])
    assert caught.value.__notes__ == ['while converting ["id"], which is int64[2]']
    data = ps.feed.resident(Dataset.range(4).batch(2), jax.devices()[0], finish=lambda batch: batch["x"])
    with pytest.raises(TypeError) as caught:
        next(iter(data))
    assert "in resident(finish=lambda)" in caught.value.__notes__


def test_what_is_no_dataset_or_does_not_fit_is_refused(monkeypatch):
    pytest.importorskip("torch")
    feed = Dataset.range(4).to_torch()
    with pytest.raises(TypeError, match="expected a dataset"):
        ps.feed.resident(feed, "cpu")
    monkeypatch.setattr("penstock.feed.torch.TorchHome.free_bytes", lambda _: 100)
    with pytest.raises(BudgetError, match=r"the data takes 368 bytes, but the device has only 100 bytes free"):
        ps.feed.resident(Dataset.from_tensor_slices(DATA).batch(2), "cpu")
