"""Penstock: a cursor at the wanted batch, loaded into a new iterator."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import numpy as np

import penstock as ps
from bench.memory import peak_bytes, reset_peak
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch, at = options["batch"], options["row"] // options["batch"]
    ds = ps.Dataset.range(options["rows"]).shuffle(seed=0).map(lambda x: x + 1).batch(batch)
    state = ds.iterator(epoch=0).state_dict() | {"row": at}

    def run(tally: Tally, number: int) -> None:
        before = reset_peak()
        tally.start()
        with ds.iterator(epoch=0) as it:
            it.load_state_dict(state)
            values = next(it)
        tally.rows = 1
        tally.extra["peak_bytes"] = peak_bytes() - before
        if tally.thorough:
            assert np.array_equal(values, ds[at]), "not the batch of this row"
            tally.add(values, values)

    return run
