"""Grain: its state with another index, loaded into a new iterator. The shuffle of Grain is arithmetic too."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain

from bench.memory import peak_bytes, reset_peak
from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch, at = options["batch"], options["row"] // options["batch"]
    ds = grain.MapDataset.range(options["rows"]).shuffle(seed=0).map(lambda x: x + 1).batch(batch)
    items = ds.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    state = {**iter(items).get_state(), "next_index": at}

    def run(tally: Tally, number: int) -> None:
        before = reset_peak()
        tally.start()
        it = iter(items)
        it.set_state(state)
        values = next(it)
        tally.rows = 1
        tally.extra["peak_bytes"] = peak_bytes() - before
        if tally.thorough:
            assert it.get_state()["next_index"] == at + 1
            tally.add(values, values)

    return run
