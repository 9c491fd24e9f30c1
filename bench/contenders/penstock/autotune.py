"""Penstock, which chooses its settings by itself."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.contenders.tuned_work import TunedWork
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = ps.Dataset.range(options["rows"]).map(TunedWork(options))

    def run(tally: Tally, number: int) -> None:
        for made in ds:
            tally.add(made, made)

    return run
