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
    threads = options["threads"]
    epoch = library("tokens", []).tokens_epoch
    epoch.restype = None
    made = np.zeros(threads, np.int64)

    def memory(slots: int) -> list[np.ndarray]:
        return [np.zeros((threads, slots, length), np.int32) for _ in range(3)]

    def go(out: list[np.ndarray]) -> int:
        numbers = (len(documents), length, options["window"], out[0].shape[1], threads)
        arrays = (documents.tokens, documents.splits, *out, made)
        epoch(*map(ctypes.c_int64, numbers), *(ctypes.c_void_p(array.ctypes.data) for array in arrays))
        return int(made.sum())

    shallow = memory(4 * batch)  # for each thread, as much memory as a shallow prefetch writes to

    def run(tally: Tally, number: int) -> None:
        if tally.thorough:
            out = memory(len(documents))
            sequences = go(out)
            for thread, count in enumerate(made.tolist()):
                for low in range(0, count, batch):
                    documents.look(tally, *(array[thread, low : min(low + batch, count)] for array in out))
            documents.count(tally, 1, sequences, length)
            return
        tally.start()
        sequences = sum(go(shallow) for _ in range(options["epochs"]))
        documents.count(tally, options["epochs"], sequences, length)

    return run
