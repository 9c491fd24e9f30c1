"""Grain over arrays, with a batch per item, for a long run."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain
import numpy as np

from bench.contenders.watching import watch
from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    data = np.load(options["data"])
    ds = grain.MapDataset.range(len(data)).shuffle(seed=0).batch(options["batch"], drop_remainder=True)
    ds = ds.map(lambda rows: data[rows]).repeat()

    def run(tally: Tally, number: int) -> None:
        watch(ds.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)), options, tally)

    return run
