"""Pinned memory from CUDA's driver, for frameworks that copy out of it but hand none out."""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from penstock.feed.ring import PinnedBlock, Ring

_PORTABLE = 1  # pinned for all contexts, so for all devices: CU_MEMHOSTALLOC_PORTABLE


class CudaDriverMemory:
    """Allocates pinned memory by CUDA's driver, in the context of one device that its frameworks use too."""

    def __init__(self, driver: Any, number: int) -> None:
        self._driver = driver
        self._context = ctypes.c_void_p()
        self._check(driver.cuInit(0))
        self._check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), number))

    def block(self, nbytes: int) -> PinnedBlock:
        """Return a new block; one that is not pinned if the system does not allow as much."""
        address = ctypes.c_void_p()
        driver = self._driver
        self._check(driver.cuCtxPushCurrent_v2(self._context))
        try:
            failed = driver.cuMemHostAlloc(ctypes.byref(address), ctypes.c_size_t(nbytes), _PORTABLE)
        finally:
            driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
        if failed or address.value is None:
            plain = np.empty(nbytes, np.uint8)
            return PinnedBlock(plain, plain.ctypes.data, nbytes)
        block = PinnedBlock(self, address.value, nbytes)
        weakref.finalize(block, self._free, address).atexit = False  # the driver frees all memory with the process
        return block

    def _free(self, address: ctypes.c_void_p) -> None:
        driver = self._driver
        if driver.cuCtxPushCurrent_v2(self._context) == 0:
            driver.cuMemFreeHost(address)
            driver.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise OSError(f"the CUDA driver returned error {status}")


def pinned_ring(number: int) -> Ring | None:
    """Return a ring of pinned memory for all devices, allocated by way of that one; `None` without CUDA's driver."""
    try:
        return Ring(CudaDriverMemory(ctypes.CDLL("libcuda.so.1"), number).block)
    except OSError:
        return None
