"""Penstock's stream transformations."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.tally import Tally

RANGE = 1_000


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = pipeline(options["kind"], options["rows"], options.get("vectorized")).batch(
        options["batch"], drop_remainder=True
    )

    def run(tally: Tally, number: int) -> None:
        for values in ds:
            tally.add(values, values)

    return run


def pipeline(kind: str, rows: int, vectorized: bool | None) -> ps.Dataset[Any]:
    numbers = ps.Dataset.range(rows)
    if kind == "filter":
        how = {} if vectorized is None else {"vectorized": vectorized}
        return numbers.map(lambda x: x + 1, **how).filter(lambda x: x % 2 == 0, **how)
    if kind == "flat_map":
        return ps.Dataset.range(rows // 4).flat_map(lambda x: [x] * 4)
    if kind == "interleave":
        inner = lambda i: ps.Dataset.range(int(i) * RANGE, int(i) * RANGE + RANGE)  # noqa: E731
        return ps.Dataset.range(rows // RANGE).interleave(inner, cycle_length=8)
    if kind == "shuffle":
        return numbers.filter(lambda x: True).shuffle(10_000, seed=0)
    return numbers.batch(256, drop_remainder=True).filter(lambda batch: True).unbatch()
