"""Penstock over images in a cache on disk, which the warm-up fills; a run is several epochs, each in another order."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import numpy as np

import penstock as ps
from bench.tally import Tally, record_ids


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    folder = tempfile.TemporaryDirectory(dir=options["data"].rpartition("/")[0])
    data = np.load(options["data"], mmap_mode="r")
    kept = ps.Dataset.from_source(data).map(np.array).cache(folder.name)
    list(kept)
    ds = kept.shuffle(seed=0).batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int, kept_until_the_end: object = folder) -> None:
        for _ in range(1 if tally.thorough else 8):
            for batch in ds:
                tally.add(batch, record_ids(batch) if tally.thorough else batch)

    return run
