from __future__ import annotations

import gc

import numpy as np
import pytest

import penstock as ps
from penstock.memory.arena import Arena
from penstock.memory.pool import SMALL, Memory, SharedMemory
from penstock.memory.shared_file import SharedFile

D = ps.Dataset
FLOAT = np.dtype(np.float32)


def test_large_arrays_are_recycled_and_small_ones_are_allocated_by_numpy():
    memory = Memory()
    array = memory.allocate((SMALL,), FLOAT)
    address = array.ctypes.data
    view = array[3:7]
    del array
    assert memory.live_bytes == 4 * SMALL  # a view keeps it
    del view
    assert memory.live_bytes == 0
    assert memory.allocate((SMALL,), FLOAT).ctypes.data == address
    memory.allocate((3,), FLOAT)
    memory.allocate((SMALL,), np.dtype(object))
    assert memory.live_bytes == 0
    assert memory.peak_bytes == 4 * SMALL


def test_the_peak_is_of_what_was_in_use_at_the_same_time_in_the_pool_and_the_arena():
    memory = SharedMemory(Arena(SharedFile(1 << 16, 1 << 16)))
    shared = memory.allocate((1 << 15,), np.dtype(np.uint8))
    del shared
    own = memory.allocate((1 << 17,), np.dtype(np.uint8))  # more than the arena has
    assert memory.peak_bytes == 1 << 17
    shared = memory.allocate((1 << 14,), np.dtype(np.uint8))
    assert memory.peak_bytes == memory.live_bytes == (1 << 17) + (1 << 14)
    del own, shared
    assert memory.live_bytes == 0
    assert memory.peak_bytes == (1 << 17) + (1 << 14)


def test_the_peak_is_not_of_what_was_in_an_arena_before():
    arena = Arena(SharedFile(1 << 16, 1 << 16))
    SharedMemory(arena).allocate((1 << 15,), np.dtype(np.uint8))
    memory = SharedMemory(arena)
    assert memory.peak_bytes == 0
    kept = arena.block(1 << 14)  # for a result
    assert memory.peak_bytes == kept.nbytes


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_a_steady_run_takes_the_memory_of_a_few_slots(executor):
    ds = D.range(8000).map(lambda x: np.full(4096, x % 256, np.uint8)).batch(4).prefetch(4)
    gc.disable()  # nothing here is a cycle
    try:
        it = ds.with_options(ps.Options(executor=executor, workers=2)).iterator()
        for batch in it:
            assert batch.shape == (4, 4096)
        del batch
    finally:
        gc.enable()
    assert it.stats().live_bytes == 0
    assert 4 * 4096 <= it.stats().peak_bytes <= 8000 * 4096 // 4


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_a_batch_that_is_kept_is_never_overwritten(executor):
    ds = D.range(120).map(lambda x: {"x": np.full(2048, x, np.int32)}).batch(3)
    kept, leaves = [], []
    with ds.with_options(ps.Options(executor=executor, workers=2)).iterator() as it:
        for index, batch in enumerate(it):
            if index % 3 == 0:
                kept.append((index, batch))
            elif index % 3 == 1:
                leaves.append((index, batch["x"][1, :5]))  # a view of a part
    for index, batch in kept:
        assert np.array_equal(batch["x"], np.repeat([[3 * index], [3 * index + 1], [3 * index + 2]], 2048, axis=1))
    for index, part in leaves:
        assert part.tolist() == [3 * index + 1] * 5


def test_batches_outlive_their_iterator():
    it = D.range(9).map(lambda x: np.full(9000, x)).batch(3).iterator()
    batch = next(it)
    it.close()
    del it
    assert batch[:, 0].tolist() == [0, 1, 2]
    batch[:] = 7
    assert batch.sum() == 7 * 27_000
