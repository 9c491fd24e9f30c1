"""Penstock over arrays, as in the documentation; a run is several epochs, because one takes milliseconds."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import numpy as np

import penstock as ps
from bench.tally import Tally, record_ids


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    data = np.load(options["data"])
    elements = (data, np.load(options["labels"])) if "labels" in options else (data,)
    ds = ps.Dataset.from_tensor_slices(elements).shuffle(seed=0).batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for _ in range(1 if tally.thorough else 20):
            for batch in ds:
                tally.add(batch[0], record_ids(batch[0]) if tally.thorough else batch[0])

    return run
