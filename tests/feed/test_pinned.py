"""Pinned memory by CUDA's driver: allocated and freed in the context of its device; plain memory where none is left."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

from penstock.feed import pinned
from penstock.feed.pinned import CudaDriverMemory, pinned_ring
from penstock.feed.ring import block_under


class Driver:
    """The functions of CUDA's driver that are called, over NumPy's memory."""

    def __init__(self, most=1 << 20, status=0):
        self.most, self.status = most, status
        self.contexts = []
        self.blocks = {}

    def cuInit(self, flags):  # noqa: N802
        return self.status

    def cuDevicePrimaryCtxRetain(self, context, number):  # noqa: N802
        context._obj.value = 1000 + number
        return 0

    def cuCtxPushCurrent_v2(self, context):  # noqa: N802
        self.contexts.append(context.value)
        return 0

    def cuCtxPopCurrent_v2(self, context):  # noqa: N802
        context._obj.value = self.contexts.pop()
        return 0

    def cuMemHostAlloc(self, address, nbytes, flags):  # noqa: N802
        assert self.contexts == [1003]
        assert flags == 1
        if nbytes.value > self.most:
            return 2
        buffer = np.empty(nbytes.value, np.uint8)
        self.blocks[buffer.ctypes.data] = buffer
        address._obj.value = buffer.ctypes.data
        return 0

    def cuMemFreeHost(self, address):  # noqa: N802
        assert self.contexts == [1003]
        del self.blocks[address.value]
        return 0


def test_memory_is_allocated_and_freed_in_the_context_of_the_device(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    ring = pinned_ring(3)
    array = ring.allocate(10_000)
    array[:] = 7
    assert next(iter(driver.blocks.values()))[9_999] == 7
    del array
    ring.allocate(9_000)
    assert len(driver.blocks) == 1  # the same one again
    del ring
    gc.collect()
    assert not driver.blocks
    assert not driver.contexts


def test_memory_is_plain_where_no_more_may_be_pinned():
    driver = Driver(most=8192)
    memory = CudaDriverMemory(driver, 3)
    block = memory.block(16_384)
    assert block.nbytes == 16_384
    assert isinstance(block.buffer, np.ndarray)
    assert not driver.blocks
    assert not driver.contexts


@pytest.mark.parametrize("fault", ["no driver", "no device"])
def test_without_cuda_there_is_no_ring(monkeypatch, fault):
    def load(name):
        if fault == "no driver":
            raise OSError(f"{name}: cannot open shared object file")
        return Driver(status=100)

    monkeypatch.setattr(pinned.ctypes, "CDLL", load)
    assert pinned_ring(0) is None


def test_the_arrays_of_a_ring_lie_in_its_blocks(monkeypatch):
    driver = Driver()
    monkeypatch.setattr(ctypes, "CDLL", lambda name: driver)
    array = pinned_ring(3).allocate(100)
    assert block_under(array).address in driver.blocks
