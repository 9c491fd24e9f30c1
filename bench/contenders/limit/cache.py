"""The limit of `cache`: rows of a `numpy.memmap` in a ready permutation, gathered into a reused buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.tally import Tally, record_ids


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    data, batch = np.load(options["data"], mmap_mode="r"), options["batch"]
    out = np.empty((batch, *data.shape[1:]), data.dtype)
    orders = [np.random.default_rng(seed).permutation(len(data)) for seed in range(8)]

    def run(tally: Tally, number: int) -> None:
        for order in orders[: 1 if tally.thorough else len(orders)]:
            for start in range(0, len(order) // batch * batch, batch):
                rows = order[start : start + batch]
                np.take(data, rows, axis=0, out=out, mode="clip")  # "raise" would make a copy
                tally.add(out, record_ids(out) if tally.thorough else rows)

    return run
