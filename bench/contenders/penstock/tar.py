"""Penstock over tar archives, all samples shuffled, as in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = ps.read_tar(options["files"], columns=["bin", "cls"], decode={"cls": int}).shuffle(seed=0)
    ds = ds.batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for batch in ds.iterator(epoch=number):
            assert len(batch["bin"]) == len(batch["cls"])
            tally.add(batch["cls"], batch["cls"])

    return run
