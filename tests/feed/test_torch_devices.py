"""The feed to devices of PyTorch, with streams and events made up where there is no such device."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

from penstock import Dataset, Options, Ragged
from penstock.core.errors import PlanError
from penstock.feed import parcel
from penstock.feed.feed import FrameworkFeed
from penstock.feed.ring import block_under
from penstock.feed.towers import MicroBatches, Split
from tests.feed.streams import FakeStreams
from tests.frameworks import when_used

torch = when_used("torch")
from penstock.feed.torch import OnDevice  # noqa: E402 - after PyTorch is known to be there

INLINE = Options(executor="inline")


def feed_of(ds, streams, *, finish=None, depth=2):
    return FrameworkFeed(ds, OnDevice(torch, torch.device("cpu"), finish, streams), depth)


def images(count, *, workers=None):
    data = {"image": np.zeros((count, 64, 64, 3), np.uint8), "label": np.arange(count)}
    options = INLINE if workers is None else Options(workers=workers)
    return Dataset.from_tensor_slices(data).map(marked).batch(4).with_options(options)


def marked(element):
    image = element["image"].copy()
    image[:] = element["label"] % 251
    return {"image": image, "label": element["label"]}


def test_tasks_write_into_the_pinned_blocks_and_no_batch_is_packed_after_the_first(monkeypatch):
    packed, really = [], parcel._packed
    monkeypatch.setattr(
        parcel, "_packed", lambda arrays, reserve: packed.append(len(arrays)) or really(arrays, reserve)
    )
    streams = FakeStreams(torch)
    one_by_one = Options(
        executor="inline", memory_budget=60_000
    )  # batches as cheap as these are made several at a time
    it = feed_of(images(80).with_options(one_by_one), streams).iterator()
    assert [label for batch in it for label in batch["label"].tolist()] == list(range(80))
    assert packed == [2]  # the first batch shows how large batches are
    assert len(streams.blocks) <= 4  # two under way, one that is made, one that is packed


PIPELINES = {
    "a function": lambda ds: ds.batch(4).map(lambda e: {**e, "image": e["image"].clip(1)}, vectorized=False),
    "columns": lambda ds: ds.batch(4).map(lambda e: {**e, "image": e["image"][:, :, ::-1] * 2}, vectorized=True),
    "flags": lambda ds: ds.padded_batch(4, remainder="pad"),
    "a stream": lambda ds: ds.filter(lambda e: True).batch(4),
    "batches of a stream": lambda ds: ds.batch(5).filter(lambda e: True).rebatch(4),
}


@pytest.mark.parametrize("make", PIPELINES.values(), ids=PIPELINES)
def test_batches_of_every_pipeline_travel_in_the_block_that_they_were_made_in(monkeypatch, make):
    packed, really = [], parcel._packed
    monkeypatch.setattr(
        parcel, "_packed", lambda arrays, reserve: packed.append(len(arrays)) or really(arrays, reserve)
    )
    data = {"image": np.zeros((80, 64, 64, 3), np.uint8), "label": np.arange(80)}
    ds = make(Dataset.from_tensor_slices(data).map(marked))
    ds = ds.with_options(Options(executor="inline", memory_budget=70_000))
    streams = FakeStreams(torch)
    batches = list(feed_of(ds, streams))
    leaves = [batch if isinstance(batch, dict) else batch[0] for batch in batches]
    assert [label for batch in leaves for label in batch["label"].tolist()] == list(range(80))
    assert len(packed) <= 1  # the first batch shows how large batches are
    kept = list(ds.iterator(epoch=0))
    assert all((batch["image"].numpy() == wanted["image"]).all() for batch, wanted in zip(leaves, kept, strict=True))


@pytest.mark.parametrize("workers", [None, 2])
def test_no_block_is_overwritten_before_it_is_copied(workers):
    streams = FakeStreams(torch)  # copies when the batch is handed out, not before
    kept = list(feed_of(images(80, workers=workers), streams, depth=3))
    for number, batch in enumerate(kept):
        assert batch["label"].tolist() == list(range(4 * number, 4 * number + 4))
        assert (batch["image"].amax(dim=(1, 2, 3)).tolist()) == batch["label"].tolist()
        assert (batch["image"].amin(dim=(1, 2, 3)).tolist()) == batch["label"].tolist()


def test_a_batch_is_one_copy():
    streams = FakeStreams(torch)
    copies, copy = [], streams.copy
    streams.copy = lambda to, source: (copies.append(source.nbytes), copy(to, source))
    data = {f"feature {i}": np.arange(12, dtype=np.int32) for i in range(34)} | {"id": [str(i) for i in range(12)]}
    batches = list(feed_of(Dataset.from_tensor_slices(data).batch(4), streams))
    assert len(copies) == 3
    assert all(33 * 128 + 16 <= nbytes <= 34 * 128 for nbytes in copies)
    assert batches[2]["feature 33"].tolist() == [8, 9, 10, 11]
    assert batches[2]["id"].tolist() == ["8", "9", "10", "11"]


def test_finish_runs_beside_the_steps_and_the_consumer_owns_what_it_makes():
    streams = FakeStreams(torch)
    inside, owned = [], []
    hand_over = streams.hand_over

    def finish(batch):
        inside.append(streams.is_beside)
        streams.queue.pop(0)(), streams.queue.pop(0)(), streams.queue.pop(0)()  # the copy, as a real stream would
        return batch.float() / 255

    streams.hand_over = lambda tensors, ready: (owned.append(len(tensors)), hand_over(tensors, ready))
    data = np.full((8, 3), 255, np.uint8)
    made = list(feed_of(Dataset.from_tensor_slices(data).batch(4), streams, finish=finish))
    assert [batch.dtype for batch in made] == [torch.float32] * 2
    assert [batch.mean().item() for batch in made] == [1, 1]
    assert inside == [True, True]
    assert owned == [2, 2]  # the bytes, and the floats


def test_micro_batches_are_one_copy_of_the_pinned_block_itself(monkeypatch):
    packed, really = [], parcel._packed
    monkeypatch.setattr(parcel, "_packed", lambda arrays, reserve: packed.append(1) or really(arrays, reserve))
    streams = FakeStreams(torch)
    copies, copy = [], streams.copy
    streams.copy = lambda to, source: (copies.append(source.nbytes), copy(to, source))
    one_by_one = Options(executor="inline", memory_budget=60_000)
    placement = MicroBatches(OnDevice(torch, torch.device("cpu"), None, streams), 2)
    steps = list(FrameworkFeed(images(80).with_options(one_by_one), placement, 2))
    assert [[part["label"].tolist() for part in parts] for parts in steps[:2]] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]
    assert all(part["image"].amax().item() == part["label"][1].item() for parts in steps for part in parts)
    assert len(copies) == 20
    assert len(packed) == 1  # the first batch shows how large batches are


def test_ragged_and_sparse_batches_are_cut_on_a_device():
    streams = FakeStreams(torch)
    rows = Dataset.range(1, 5).map(np.arange)
    for ds in (rows.ragged_batch(4), rows.sparse_batch(4, row_shape=(6,))):
        device = OnDevice(torch, torch.device("cpu"), None, streams)
        ((first, second),) = FrameworkFeed(ds, MicroBatches(device, 2))
        dense = [part.to_padded_tensor(0) if part.is_nested else part.to_dense() for part in (first, second)]
        assert [row[:4].tolist() for row in dense[1]] == [[0, 1, 2, 0][: dense[1].shape[1]], [0, 1, 2, 3]]
        assert len(dense[0]) == 2


def test_the_verdict_of_a_device_is_that_of_its_events():
    streams = FakeStreams(torch)
    streams.scale = 50.0
    it = feed_of(images(40), streams).iterator()
    for _ in it:
        pass
    assert "cpu waited" in it.verdict()
    assert it.verdict().kind == "transfer"


def test_released_memory_goes_back_to_the_ring():
    streams = FakeStreams(torch)
    placement = OnDevice(torch, torch.device("cpu"), None, streams)
    placed = placement.place([np.arange(4)])
    block = block_under(placed.host.memory)
    assert not block.is_free()
    placement.wait(placed)
    placement.release(placed)
    assert block.is_free()
    assert block in placement._ring._idle


def test_the_meta_device_takes_shapes():
    (batch,) = images(4).to_torch("meta", finish=lambda batch: {**batch, "image": batch["image"].float()})
    assert batch["image"].device.type == "meta"
    assert (batch["image"].shape, batch["image"].dtype) == ((4, 64, 64, 3), torch.float32)


def test_a_device_that_does_not_exist_is_refused():
    with pytest.raises(PlanError, match=r"to_torch\('nonsense'\): not a device of PyTorch"):
        images(4).to_torch("nonsense")
    if not torch.cuda.is_available():
        with pytest.raises(PlanError, match=r"to_torch\('cuda'\): PyTorch sees no CUDA device here; without it"):
            images(4).to_torch("cuda")
    with pytest.raises(PlanError, match=r"cannot be used here|sees \d+ CUDA devices? here"):
        images(4).to_torch("cuda:99" if torch.cuda.is_available() else "xpu")
    with pytest.raises(PlanError, match=r"^to_torch\('ipu'\): this device cannot be used here: .{10,120}$") as caught:
        images(4).to_torch("ipu")
    assert "only available for these backends" not in str(caught.value)


def test_several_devices_of_one_process():
    ds = images(16)
    for parts in ds.to_torch(["cpu", "cpu"], split=True):
        assert [len(part["label"]) for part in parts] == [2, 2]
    dealt = list(images(12).to_torch(["cpu", "cpu"], round_robin=True))
    assert [[batch["label"][0].item() for batch in step] for step in dealt] == [[0, 4], [8]]


def test_stacks_micro_batches_and_casts():
    (stack,) = images(16).to_torch(steps=4)
    assert stack["image"].shape == (4, 4, 64, 64, 3)
    assert stack["label"].flatten().tolist() == list(range(16))
    parts = next(iter(images(16).to_torch(micro_batches=2)))
    assert [part["label"].tolist() for part in parts] == [[0, 1], [2, 3]]
    assert parts[0]["image"].data_ptr() + parts[0]["image"].nbytes == parts[1]["image"].data_ptr()  # views of the batch
    halves = images(4).to_torch(finish=half)
    assert next(iter(halves)).dtype == torch.float16


def half(batch):
    return batch["image"].half()


def test_a_feed_with_options_travels():
    feed = pickle.loads(pickle.dumps(Dataset.range(8).batch(4).to_torch("cpu", micro_batches=2, depth=2)))
    assert [[part.tolist() for part in parts] for parts in feed] == [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]


def test_a_block_that_two_devices_copy_from_waits_for_both():
    first, second = FakeStreams(torch), FakeStreams(torch)
    towers = Split([OnDevice(torch, torch.device("cpu"), None, streams) for streams in (first, second)])
    ds = Dataset.from_tensor_slices(np.arange(64 * 64, dtype=np.int32).reshape(64, 64)).batch(8).with_options(INLINE)
    source = FrameworkFeed(ds, towers, 2)
    kept = [torch.cat(parts)[:, 0].tolist() for parts in source]
    assert kept == [[64 * row for row in range(low, low + 8)] for low in range(0, 64, 8)]
    memory = towers.allocate(4096)
    block = block_under(memory)
    parts = memory.view(np.int32).reshape(8, 128)
    placed = towers.place([parts])
    del memory, parts
    towers.wait(placed[:1])
    towers.release(placed)
    assert not block.is_free()  # the second device has not copied
    towers.wait(placed[1:])
    assert block.is_free()


def test_the_part_of_each_replica_is_one_copy():
    both = FakeStreams(torch), FakeStreams(torch)
    copies = []
    for replica, streams in enumerate(both):
        streams.copy = partial(counted, copies, replica, streams.copy)
    seen = Ragged.from_rows([[row] * (row % 5) for row in range(20)], np.int64)
    clicks = {"seen": seen, **{f"feature {i}": np.arange(20) + i for i in range(30)}}
    towers = Split([OnDevice(torch, torch.device("cpu"), None, streams) for streams in both])
    received = []
    for parts in FrameworkFeed(Dataset.from_tensor_slices(clicks).batch(5), towers, 2):
        for part in parts:
            rows = [row.tolist() for row in part["seen"].unbind()]
            assert part["feature 29"].tolist() == [29 + len(received) + i for i in range(len(rows))]
            received += rows
    assert received == seen.tolist()
    assert copies == [0, 1] * 4


def counted(copies, replica, copy, to, source):
    copies.append(replica)
    copy(to, source)
