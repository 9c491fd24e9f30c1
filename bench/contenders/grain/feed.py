"""Grain with a map over batches of row numbers. Tried: 0, 1 and 2 reader threads, buffers, and a worker process."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain
import numpy as np

from bench.contenders.stepping import Stepping, normalized, read
from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    images, labels = read(options)

    def made(rows: np.ndarray) -> dict[str, np.ndarray]:
        return {"image": normalized(images[rows]), "label": labels[rows]}

    threads = options.get("read", 0)
    ds = grain.MapDataset.range(len(images)).shuffle(seed=0).batch(options["batch"], drop_remainder=True)
    read_ahead = grain.ReadOptions(num_threads=threads, prefetch_buffer_size=options.get("buffer", 4) if threads else 0)
    stepping = Stepping(options)
    return stepping.over(stepping.placed(ds.map(made).repeat().to_iter_dataset(read_ahead)))
