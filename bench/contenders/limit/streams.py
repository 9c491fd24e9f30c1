"""The limits of `streams`: plain Python generators."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from bench.contenders.limit.overhead import batched, shuffled
from bench.tally import Tally

RANGE = 1_000


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    kind, rows = options["kind"], options["rows"]
    plus_one, is_even = lambda x: x + 1, lambda x: x % 2 == 0

    def elements(number: int) -> Iterator[Any]:
        if kind == "filter":
            return (y for x in range(rows) if is_even(y := plus_one(x)))
        if kind == "flat_map":
            return (y for x in range(rows // 4) for y in [x] * 4)
        if kind == "interleave":
            return interleaved((range(i * RANGE, i * RANGE + RANGE) for i in range(rows // RANGE)), 8)
        if kind == "shuffle":
            return shuffled((x for x in range(rows)), 10_000, random.Random(number))
        return (x for at in range(0, rows // 256 * 256, 256) for x in np.arange(at, at + 256))

    def run(tally: Tally, number: int) -> None:
        for values in batched(elements(number), options["batch"]):
            tally.add(values, values)

    return run


def interleaved(ranges: Iterable[Iterable[int]], cycle: int) -> Iterator[int]:
    waiting = iter(ranges)
    turns = [iter(each) for each in islice(waiting, cycle)]
    while turns:
        for turn in list(turns):
            try:
                yield next(turn)
            except StopIteration:
                turns.remove(turn)
                turns += [iter(each) for each in islice(waiting, 1)]
