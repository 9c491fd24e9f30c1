"""Penstock over tables, as in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.looked import look_at_rows
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    kept = {"cache_bytes": options["cache"]} if "cache" in options else {}
    if options["kind"].startswith("csv"):
        types = {f"x{i:02d}": "float32" for i in range(options["features"])}
        ds = ps.read_csv(options["csv"], types=types, **kept)
    else:
        ds = ps.read_parquet(options["parquet"], **kept)
    if "shuffled" in options["kind"]:
        ds = ds.shuffle()
    ds = ds.batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for batch in ds:
            look_at_rows(tally, batch)

    return run
