"""The limits of `overhead`: plain Python generators, and NumPy in blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    rows, batch, maps = options["rows"], options["batch"], options["maps"]
    function = lambda x: x + 1  # noqa: E731 (the workload says lambda)

    def generators(number: int) -> Iterator[np.ndarray]:
        elements: Iterable[int] = range(rows)
        for _ in range(maps):
            elements = mapped(function, elements)
        return batched(shuffled(elements, 10_000, random.Random(number)), batch)

    def blocks(number: int) -> Iterator[np.ndarray]:
        rng, size = np.random.default_rng(number), 65_536
        for start in range(0, rows, size):
            block = np.arange(start, min(start + size, rows))
            for _ in range(maps):
                block = function(block)
            rng.shuffle(block)
            yield from (block[at : at + batch] for at in range(0, len(block) // batch * batch, batch))

    def run(tally: Tally, number: int) -> None:
        for values in blocks(number) if options.get("columns") else generators(number):
            tally.add(values, values)

    return run


def mapped(function: Callable[[int], int], elements: Iterable[int]) -> Iterator[int]:
    for element in elements:
        yield function(element)


def shuffled(elements: Iterable[int], size: int, rng: random.Random) -> Iterator[int]:
    rest = iter(elements)
    buffer = list(islice(rest, size))
    draw = rng.random  # a quarter of the cost of randrange
    for element in rest:
        at = int(draw() * size)
        yield buffer[at]
        buffer[at] = element
    rng.shuffle(buffer)
    yield from buffer


def batched(elements: Iterator[int], size: int) -> Iterator[np.ndarray]:
    while len(batch := list(islice(elements, size))) == size:
        yield np.array(batch)
