"""Ray Data on a Ray cluster of this machine: `iter_batches`, or `streaming_split` with one consumer.

Tried: blocks of one to four batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import ray

from bench.contenders.clustering import runs_of
from bench.contenders.preparing import Prepare
from bench.tally import Tally


def version() -> str:
    return ray.__version__


class Batches:
    """Make the batch of some row numbers."""

    def __init__(self, prepare: Prepare) -> None:
        self.prepare = prepare

    def __call__(self, rows: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return {"image": self.prepare.batch(rows["id"])}


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ray.init(
        "local", num_cpus=options["workers"], include_dashboard=False, log_to_driver=False, object_store_memory=1 << 30
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    batch, blocks = options["batch"], options.get("blocks", 1)
    ds = ray.data.range(options["rows"], override_num_blocks=options["rows"] // (batch * blocks))
    ds = ds.map_batches(Batches(Prepare(options)).__call__, batch_size=batch)
    given: Any = ds.streaming_split(1, equal=False)[0] if options.get("split") else ds

    def batches(number: int) -> Iterator[np.ndarray]:
        for made in given.iter_batches(batch_size=batch, batch_format="numpy", drop_last=True):
            yield made["image"]

    return runs_of(batches, options, "MapBatches")
