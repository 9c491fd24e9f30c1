"""webdataset as in its documentation: archives shuffled, then samples in a buffer; with or without workers."""

from __future__ import annotations

import glob
from collections.abc import Callable
from typing import Any

import numpy as np
import webdataset as wds

from bench.tally import Tally


def version() -> str:
    return wds.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    workers = options.get("workers", 0)
    ds = (
        wds.WebDataset(sorted(glob.glob(options["files"])), shardshuffle=100)
        .shuffle(options["buffer"])
        .to_tuple("bin", "cls")
        .map_tuple(lambda content: content, int)
        .batched(options["batch"], partial=False)
    )
    loader = wds.WebLoader(ds, batch_size=None, num_workers=workers, persistent_workers=workers > 0) if workers else ds

    def run(tally: Tally, number: int) -> None:
        for contents, numbers in loader:
            assert len(contents) == len(numbers)
            tally.add(np.asarray(numbers), np.asarray(numbers))

    return run
