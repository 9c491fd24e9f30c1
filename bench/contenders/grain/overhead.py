"""Grain over a range, without reader threads (with 1, 2 or 16 of them it is slower here)."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain

from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch, columns = options["batch"], options.get("columns", False)
    threads = options.get("read", 0)

    def run(tally: Tally, number: int) -> None:
        ds = grain.MapDataset.range(options["rows"]).shuffle(seed=number)
        if columns:
            ds = ds.batch(batch, drop_remainder=True)
        for _ in range(options["maps"]):
            ds = ds.map(lambda x: x + 1)
        if not columns:
            ds = ds.batch(batch, drop_remainder=True)
        read = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=16 if threads else 0)
        for values in ds.to_iter_dataset(read):
            tally.add(values, values)

    return run
