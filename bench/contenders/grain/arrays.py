"""Grain over arrays. Tried: a map over batches of row numbers or over elements; 0, 1, 2 and 16 reader threads."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain
import numpy as np

from bench.tally import Tally, record_ids


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    data, batch = np.load(options["data"]), options["batch"]
    elements = (data, np.load(options["labels"])) if "labels" in options else (data,)
    threads = options.get("read", 0)

    def run(tally: Tally, number: int) -> None:
        ds = grain.MapDataset.range(len(data)).shuffle(seed=number)
        if options.get("batched", True):
            ds = ds.batch(batch, drop_remainder=True).map(lambda rows: tuple(leaf[rows] for leaf in elements))
        else:
            ds = ds.map(lambda row: tuple(leaf[row] for leaf in elements)).batch(batch, drop_remainder=True)
        read = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=options.get("buffer", 16) if threads else 0)
        for leaves in ds.to_iter_dataset(read):
            tally.add(leaves[0], record_ids(leaves[0]) if tally.thorough else leaves[0])

    return run
