"""The limit of `arrays`: `numpy.take` with a ready permutation into a reused buffer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bench.tally import Tally, record_ids


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    data, batch = np.load(options["data"]), options["batch"]
    labels = np.load(options["labels"]) if "labels" in options else None
    out = np.empty((batch, *data.shape[1:]), dtype=data.dtype)
    out_labels = np.empty(batch, dtype=np.int64)
    order = np.random.default_rng(0).permutation(len(data))

    def epoch(tally: Tally) -> None:
        for start in range(0, len(order) // batch * batch, batch):
            rows = order[start : start + batch]
            np.take(data, rows, axis=0, out=out, mode="clip")  # "raise" would make a copy
            if labels is not None:
                np.take(labels, rows, axis=0, out=out_labels, mode="clip")
            tally.add(out, record_ids(out) if tally.thorough else rows)

    def run(tally: Tally, number: int) -> None:
        for _ in range(1 if tally.thorough else 20):
            epoch(tally)

    return run
