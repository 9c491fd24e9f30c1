"""Penstock with the parallelism of its peers, or with its own choice: more, because waiting costs no core."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.contenders.waiting import Prepare, train
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = ps.Dataset.range(options["steps"]).map(Prepare(options), num_parallel_calls=options["parallel"])

    def run(tally: Tally, number: int) -> None:
        train(ds, options, tally)

    return run
