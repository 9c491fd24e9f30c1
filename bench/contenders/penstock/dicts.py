"""Penstock over a list of dicts."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.dicts import FUNCTIONS, rows_of
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    kind, size = options["kind"], options["batch"]
    ds = ps.Dataset.from_source(rows_of(kind, options["rows"])).shuffle(seed=0).map(FUNCTIONS[kind])
    padded, data = kind == "padded", "tokens" if kind == "padded" else "features"
    batches = ds.padded_batch(size, drop_remainder=True) if padded else ds.batch(size, drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for batch in batches:
            tally.add(batch[data], batch["id"])

    return run
