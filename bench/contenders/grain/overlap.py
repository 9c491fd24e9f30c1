"""Grain with two reader threads. Tried: buffers of 2, 4, 8 and 16."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain

from bench.contenders.waiting import Prepare, train
from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    prepare = Prepare(options)

    def run(tally: Tally, number: int) -> None:
        read = grain.ReadOptions(num_threads=options["parallel"], prefetch_buffer_size=options.get("buffer", 8))
        train(grain.MapDataset.range(options["steps"]).map(prepare).to_iter_dataset(read), options, tally)

    return run
