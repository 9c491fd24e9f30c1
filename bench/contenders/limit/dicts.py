"""The limits of `dicts`: plain Python generators, with batches made by NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice
from typing import Any

from bench.contenders.limit.overhead import mapped, shuffled
from bench.dicts import FUNCTIONS, collate, rows_of
from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    kind, size = options["kind"], options["batch"]
    rows, data = rows_of(kind, options["rows"]), "features" if kind == "stacked" else "tokens"

    def run(tally: Tally, number: int) -> None:
        elements = mapped(FUNCTIONS[kind], shuffled(rows, 10_000, random.Random(number)))
        while len(taken := list(islice(elements, size))) == size:
            batch = collate(taken)
            tally.add(batch[data], batch["id"])

    return run
