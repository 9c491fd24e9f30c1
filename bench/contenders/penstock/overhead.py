"""Penstock with a Python function, on each element or on columns."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    vectorized = options.get("vectorized")
    ds = ps.Dataset.range(options["rows"])
    for _ in range(options["maps"]):
        ds = ds.map(lambda x: x + 1, vectorized=vectorized)
    ds = ds.shuffle(seed=0).batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for values in ds:
            tally.add(values, values)

    return run
