"""The limit of `records`: one C++ call that parses an epoch, in bench/limits/records.cc."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.contenders.limit.compile import library
from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    files = [np.memmap(path, np.uint8, "r") for path in options["files"]]
    begins = [frames(file) for file in files]
    batch, count = options["batch"], sum(map(len, begins))
    epoch = library("records", []).records_epoch
    epoch.restype = ctypes.c_int64

    def run(tally: Tally, number: int) -> None:
        places = np.concatenate([file.ctypes.data + begin for file, begin in zip(files, begins, strict=True)])
        order = places[np.random.default_rng(number).permutation(count)]
        batches = -(-count // batch)
        found = [np.zeros(batches, np.int64), np.zeros(batches, np.int64), np.zeros(batches, np.float64)]
        arrays = [ctypes.c_void_p(array.ctypes.data if tally.thorough else 0) for array in found]
        tally.start()
        given = (*map(ctypes.c_int64, (count, batch, options["threads"])), ctypes.c_void_p(order.ctypes.data))
        tally.rows = epoch(*given, *arrays)
        if tally.thorough:
            tally.extra = {"values": int(found[0].sum()), "ids": int(found[1].sum())}

    return run


def frames(file: np.ndarray) -> np.ndarray:
    """Return the offset of each record's frame."""
    begins, at = [], 0
    while at < len(file):
        begins.append(at)
        at += int(file[at : at + 8].view("<u8")[0]) + 16
    return np.array(begins, np.uint64)
