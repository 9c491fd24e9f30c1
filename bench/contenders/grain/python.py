"""Grain with worker processes (`mp_prefetch`), which put batches into shared memory.

Tried: a map over elements, or over batches into Grain's shared arrays; buffers; three processes. Grain starts and ends
its processes with every epoch, which takes seconds. So the pipeline repeats, and a run begins when the batches that
were ready before have been taken.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from itertools import islice
from typing import Any

import grain
import numpy as np
from absl import flags
from grain.multiprocessing import SharedMemoryArray

from bench.contenders.laboring import Labor, rows_of
from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    flags.FLAGS.mark_as_parsed()  # as `absl.app.run` does; `mp_prefetch` reads Grain's flags
    labor, batch = Labor(options), options["batch"]
    processes, buffer = options.get("processes", 2), options.get("buffer", 1)
    early = processes * (buffer + 2)  # batches

    def batch_of(rows: np.ndarray) -> np.ndarray:
        made = SharedMemoryArray((batch, labor.nbytes), np.dtype(np.uint8))
        labor.fill(made, rows)
        return made

    ds = grain.MapDataset.range(options["rows"])
    if options.get("batched"):
        ds = ds.batch(batch, drop_remainder=True).map(batch_of)
    else:
        ds = ds.map(labor).batch(batch, drop_remainder=True)
    alone = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)  # a worker has one thread: more hold up each other
    workers = grain.MultiprocessingOptions(num_workers=processes, per_worker_buffer_size=buffer)
    batches = iter(ds.repeat().to_iter_dataset(alone).mp_prefetch(workers))

    def run(tally: Tally, number: int) -> None:
        for _ in range(early):
            next(batches)
        tally.start()
        for made in islice(batches, options["rows"] // batch):
            tally.add(made, rows_of(made))

    return run
