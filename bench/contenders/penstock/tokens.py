"""Penstock over documents in memory, end to end as `Ragged` or one array each, as in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.packed import Documents
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    documents = Documents(options)
    if options.get("arrays", False):
        source = ps.Dataset.from_source(documents.arrays())
    else:
        source = ps.Dataset.from_tensor_slices(ps.Ragged(documents.tokens, documents.splits))
    ds = source.pack(options["length"]).batch(options["batch"])

    def run(tally: Tally, number: int) -> None:
        epochs = 1 if tally.thorough else options["epochs"]
        sequences = 0
        for _ in range(epochs):
            for batch in ds:
                sequences += len(batch["tokens"])
                if tally.thorough:
                    documents.look(tally, batch["tokens"], batch["segment_ids"], batch["positions"])
        documents.count(tally, epochs, sequences, options["length"])

    return run
