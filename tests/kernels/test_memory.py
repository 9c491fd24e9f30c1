"""The pool: memory comes back when an array and all its views are gone, and not before."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

from penstock.kernels import Pool

F4 = np.dtype("f4")
U1 = np.dtype("u1")


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


@pytest.fixture
def pool() -> Pool:
    return Pool(idle_limit=1 << 24)


def test_arrays_have_the_requested_shape_and_dtype(pool: Pool) -> None:
    for shape in [(), (0,), (3,), (2, 0, 5), (16, 3, 3)]:
        for dtype in ("u1", "f8", "?", "M8[s]", "U4", [("a", "i4"), ("b", "u1")]):
            array = pool.empty(shape, np.dtype(dtype))
            assert (array.shape, array.dtype) == (shape, np.dtype(dtype))
            assert array.flags.c_contiguous
            assert array.flags.writeable
            assert address(array) % 64 == 0


def test_memory_is_reused(pool: Pool) -> None:
    first = pool.empty((100, 100), F4)
    where = address(first)
    del first
    assert address(pool.empty((100, 100), F4)) == where
    assert address(pool.empty((40_000,), U1)) == where  # the bytes count, not the shape


def test_a_view_keeps_the_memory(pool: Pool) -> None:
    array = pool.empty((10, 10), F4)
    array[:] = 7
    view = array[3:5].T
    del array
    gc.collect()
    other = pool.empty((10, 10), F4)
    other[:] = 1
    assert (view == 7).all()
    assert pool.bytes_live > 0
    del other, view
    assert pool.bytes_live == 0


def test_memoryviews_and_pickles_are_safe(pool: Pool) -> None:
    array = pool.empty((64,), U1)
    array[:] = 9
    copy = pickle.loads(pickle.dumps(array))
    seen = memoryview(array)
    del array
    pool.empty((64,), U1)[:] = 0
    assert bytes(seen) == bytes([9]) * 64
    assert (copy == 9).all()


def test_a_steady_run_takes_no_new_memory(pool: Pool) -> None:
    held = [pool.empty((128, 28, 28), U1) for _ in range(4)]
    peak = pool.bytes_peak
    for i in range(1000):
        held[i % 4] = None  # type: ignore[call-overload]
        held[i % 4] = pool.empty((128, 28, 28), U1)
    assert pool.bytes_peak == peak


def test_at_most_the_limit_is_kept_idle() -> None:
    pool = Pool(idle_limit=10_000)
    arrays = [pool.empty((4096,), U1) for _ in range(8)]
    assert pool.bytes_live == 8 * 4096
    del arrays
    assert pool.bytes_live == 0
    assert pool.bytes_idle == 2 * 4096
    pool.empty((20_000,), U1)  # too large to keep
    assert pool.bytes_idle <= 10_000


def test_idle_memory_of_recent_sizes_is_kept() -> None:
    pool = Pool(idle_limit=10_000)
    pool.empty((8192,), U1)
    assert pool.bytes_idle == 8192
    array = pool.empty((4096,), U1)
    where = address(array)
    del array
    assert address(pool.empty((4096,), U1)) == where


def test_sizes_are_rounded_by_an_eighth_at_most(pool: Pool) -> None:
    for size in [512, 513, 1000, 4097, 100_001, 1_000_001]:
        array = pool.empty((size,), U1)
        assert size <= pool.bytes_live <= size * 1.125 + 64
        del array


def test_trim_frees_what_is_idle(pool: Pool) -> None:
    kept = pool.empty((10,), F4)
    pool.empty((1000,), F4)
    pool.trim()
    assert pool.bytes_idle == 0
    assert pool.bytes_live == 64
    kept[:] = 1


def test_a_closed_pool_keeps_nothing(pool: Pool) -> None:
    array = pool.empty((1000,), F4)
    pool.empty((5000,), F4)
    pool.close()
    assert pool.bytes_idle == 0
    array[:] = 3
    assert (array == 3).all()
    del array
    assert (pool.bytes_live, pool.bytes_idle) == (0, 0)


def test_an_array_outlives_its_pool() -> None:
    pool = Pool(idle_limit=1 << 20)
    array = pool.empty((1000,), F4)
    del pool
    gc.collect()
    array[:] = 5
    assert (array == 5).all()


def test_threads_never_share_memory() -> None:
    pool = Pool(idle_limit=1 << 20)
    wrong: list[int] = []

    def work(number: int) -> None:
        for i in range(2000):
            array = pool.empty((64 + i % 3 * 64,), U1)
            array[:] = number
            if not (array == number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert pool.bytes_live == 0


def test_a_fork_keeps_both_processes_valid() -> None:
    program = """
import os, threading, numpy as np
from penstock.kernels import Pool
pool, stop = Pool(idle_limit=1 << 20), threading.Event()
def churn():
    while not stop.is_set():
        pool.empty((100,), np.dtype("u1"))
threads = [threading.Thread(target=churn) for _ in range(3)]
for thread in threads: thread.start()
for _ in range(30):
    child = os.fork()
    if not child:
        pool.empty((100,), np.dtype("u1"))[:] = 1
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads: thread.join()
print("whole")
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "whole\n", done.stderr


@pytest.mark.parametrize("shape", [(1 << 62,), (1 << 40, 1 << 40), (1 << 31, 1 << 31, 1 << 31)])
def test_an_impossible_size_is_a_memory_error(pool: Pool, shape: tuple[int, ...]) -> None:
    with pytest.raises(MemoryError):
        pool.empty(shape, np.dtype("f8"))
    assert pool.bytes_live == 0


def test_bad_requests_are_refused(pool: Pool) -> None:
    with pytest.raises(TypeError, match="plain values"):
        pool.empty((3,), np.dtype(object))
    with pytest.raises(ValueError, match="negative"):
        pool.empty((-1,), F4)
    with pytest.raises(ValueError, match="idle_limit"):
        Pool(idle_limit=-1)
    assert pool.bytes_live == 0


def test_a_block_made_by_hand_has_no_memory() -> None:
    block = type(Pool(0).empty((1,), U1).base)
    with pytest.raises((TypeError, BufferError)):
        memoryview(block.__new__(block))
    assert os.getpid() > 0  # still here
