"""Grain's own packing, into a given number of open bins. Tried: first and best fit; 64, 256 and 1,024 bins."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import grain
from grain import experimental

from bench.packed import Documents
from bench.tally import Tally

PACKINGS = {"first": experimental.FirstFitPackIterDataset, "best": experimental.BestFitPackIterDataset}


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    documents, length = Documents(options), options["length"]
    arrays = [{"tokens": array} for array in documents.arrays()]
    packing = PACKINGS[options.get("fit", "best")]

    def run(tally: Tally, number: int) -> None:
        sequences = 0
        read = grain.ReadOptions(num_threads=0, prefetch_buffer_size=0)
        ds = packing(
            grain.MapDataset.source(arrays).to_iter_dataset(read),
            length_struct={"tokens": length},
            num_packing_bins=options.get("bins", 1024),
            shuffle_bins=False,
        ).batch(options["batch"])
        for batch in ds:
            sequences += len(batch["tokens"])
            if tally.thorough:
                documents.look(tally, batch["tokens"], batch["tokens_segment_ids"], batch["tokens_positions"])
        documents.count(tally, 1, sequences, length)

    return run
