"""Penstock with two worker processes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.contenders.laboring import Labor, rows_of
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = ps.Dataset.range(options["rows"]).map(Labor(options)).batch(options["batch"], drop_remainder=True)
    ds = ds.with_options(ps.Options(executor="processes", workers=2))

    def run(tally: Tally, number: int) -> None:
        for batch in ds:
            tally.add(batch, rows_of(batch))

    return run
