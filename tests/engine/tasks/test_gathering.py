"""Batches of rows in memory, gathered by a native thread that never takes the GIL."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.memory.pool import Memory
from penstock.engine.tasks.gathering import gathering_of
from penstock.engine.tasks.task import Task
from penstock.plan.flow import Piece
from penstock.testing.laws import same

D = ps.Dataset
RAGGED = ps.Ragged.from_rows([[1], [], [2, 3], [4]])
BATCH_BYTES = 5 * 3 * 8


def gathering(ds):
    return gathering_of(ds._plan, Memory())


def begun(ds, low, high):
    found = gathering(ds)
    return found and found.begin(Task(low, high, Piece(Items([]), np.arange(low, high))), BATCH_BYTES)


def test_batches_that_are_only_read_are_gathered_by_native_code():
    data = {"x": np.arange(40.0).reshape(20, 2), "y": np.arange(20)}
    ds = D.from_tensor_slices(data).shuffle(seed=1).batch(5)
    gathered = begun(ds, 0, 3)
    assert (len(gathered), gathered.batch_rows, gathered.batch_bytes) == (3, 5, BATCH_BYTES)
    queue = gathered.elements()
    for taken, wanted in enumerate(list(ds)[:3]):
        assert gathered.taken()[0] == taken
        assert same(queue.popleft(), wanted)
    assert gathered.taken()[1].wall > 0
    with pytest.raises(IndexError, match="no batch left"):
        queue.popleft()


def test_batches_with_flags_are_gathered_too():
    ds = D.from_tensor_slices(np.arange(20) % 7).shuffle(seed=1).batch(5, remainder="pad")
    queue = begun(ds, 0, 4).elements()
    assert all(same(queue.popleft(), ds[row]) for row in range(4))


def test_the_parts_of_a_rank_are_gathered_too():
    whole = D.from_tensor_slices(np.arange(40)).shuffle(seed=1).batch(10)
    for remainder in ("drop", "wrap", "uneven"):
        ds = whole.shard_by_rank(rank=1, world=2, remainder=remainder)
        queue = begun(ds, 0, 4).elements()
        assert all(same(queue.popleft(), ds[row]) for row in range(4))


def test_batches_of_different_sizes_are_not_gathered_together():
    ds = D.from_tensor_slices(np.arange(13) % 7).shuffle(seed=0).batch(5)
    assert begun(ds, 0, 3) is None
    alone = begun(ds, 2, 3)
    assert (len(alone), alone.batch_rows, alone.batch_bytes) == (1, 3, BATCH_BYTES * 3 // 5)
    assert same(alone.elements().popleft(), ds[2])


@pytest.mark.parametrize(
    "ds",
    [
        D.from_tensor_slices(np.arange(20)).map(lambda x: x + 1).batch(5),
        D.from_tensor_slices(np.arange(20)).enumerate().batch(5),
        D.from_tensor_slices(np.arange(20)).cache().batch(5),
        D.from_source(list(range(20))).batch(5),
        D.from_tensor_slices(np.arange(20)).shuffle(seed=0),
        D.from_tensor_slices(np.arange(20)).padded_batch(5),
    ],
)
def test_batches_that_need_python_are_not_gathered(ds):
    assert gathering(ds) is None


@pytest.mark.parametrize("data", [[b"a", b"b", b"c", b"d"], np.arange(4)], ids=["objects", "consecutive rows"])
def test_objects_and_consecutive_rows_are_not_gathered(data):
    assert begun(D.from_tensor_slices(data).batch(2), 0, 2) is None


def test_ragged_batches_are_not_gathered():
    assert gathering(D.from_tensor_slices(RAGGED).batch(2)) is None
