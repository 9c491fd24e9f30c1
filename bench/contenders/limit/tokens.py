"""The limit of `tokens`: one C++ call that packs an epoch, in bench/limits/tokens.cc."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.contenders.limit.compile import library
from bench.packed import Documents
from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    documents, length, batch = Documents(options), options["length"], options["batch"]
    epoch = library("tokens", []).tokens_epoch
    epoch.restype = ctypes.c_int64

    def memory(slots: int) -> list[np.ndarray]:
        return [np.zeros((slots, length), np.int32) for _ in range(3)]

    def go(out: list[np.ndarray]) -> int:
        numbers = (len(documents), length, options["window"], len(out[0]))
        arrays = (documents.tokens, documents.splits, *out)
        return epoch(*map(ctypes.c_int64, numbers), *(ctypes.c_void_p(array.ctypes.data) for array in arrays))

    shallow = memory(4 * batch)  # as much as a shallow prefetch would write to

    def run(tally: Tally, number: int) -> None:
        if tally.thorough:
            out = memory(len(documents))
            sequences = go(out)
            for low in range(0, sequences, batch):
                documents.look(tally, *(array[low : min(low + batch, sequences)] for array in out))
            documents.count(tally, 1, sequences, length)
            return
        tally.start()
        sequences = sum(go(shallow) for _ in range(options["epochs"]))
        documents.count(tally, options["epochs"], sequences, length)

    return run
