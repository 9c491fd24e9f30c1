"""Penstock, which chooses its settings by itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.contenders.tuned_work import tuned_work
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = ps.Dataset.range(options["rows"]).map(tuned_work(options))
    ds = ds.with_options(ps.Options(memory_budget=options["memory_budget"]))

    def run(tally: Tally, number: int) -> None:
        it = ds.iterator()
        for made in it:
            tally.add(made[:1], made[:1])
        tally.extra["tuning"] = str(it.tuning())

    return run
