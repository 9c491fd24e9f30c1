"""Penstock with and without what watches a run, in turn in one process, over pipelines that hardly do anything."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from importlib.metadata import version as installed
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

import penstock as ps
from bench.tally import Tally
from penstock.dataset import iterator
from penstock.engine.tasks.observer import Unobserved
from penstock.watch.counters import Counters
from penstock.watch.steps import NOT_BEGUN, StepClock, StepTimes

ROWS, BATCH = 1_000_000, 256
PAIRS, PAIRS_WATCHED = 12, 24  # of iterators: two of them differ by per cents anyway, by where their memory is
SLICES, SLICE = 12, 0.01  # s; of each iterator, in turn with those of the other
SLICES_WATCHED, SLICE_WATCHED = 6, 0.05  # longer: what is done at times is done for the time of both iterators
WARM_UP = 0.1  # s


class Uncounted(Counters):
    """Counters that know the operations, and measure none."""

    def wrap(self, of: Any, function: Any) -> Any:
        if of is not None:
            super().wrap(of, function)
        return function

    def join(self, source: Any, steps: Any) -> Any:
        return Unobserved().join(source, steps)

    def counter(self, operations: Any) -> Any:
        return Unobserved().counter(operations)


class NoStepClock(StepClock):
    """A clock that is never read."""

    def __init__(self) -> None:
        super().__init__()
        self.measures, self.left = False, 1 << 62

    def handed_out(self, asked: int, now: int, run: Any) -> None:
        pass

    def times(self) -> StepTimes:
        return NOT_BEGUN


@contextmanager
def unwatched() -> Generator[None]:
    """Let iterators that are made meanwhile count nothing."""
    kept = iterator.Counters, iterator.StepClock, iterator.LOOK_AFTER
    iterator.Counters, iterator.StepClock, iterator.LOOK_AFTER = Uncounted, NoStepClock, 1 << 62
    try:
        yield
    finally:
        iterator.Counters, iterator.StepClock, iterator.LOOK_AFTER = kept


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    pipeline = PIPELINES[options["pipeline"]]()
    watches: str | None = options.get("watches")
    counts = not options.get("control")

    def without() -> ps.Iterator[Any]:
        with unwatched():
            return begun(pipeline.repeat().iterator())

    def with_it(folder: str) -> ps.Iterator[Any]:
        with nullcontext() if counts else unwatched():
            it = pipeline.repeat().iterator()
            if watches is not None:
                getattr(it, watches)(os.path.join(folder, watches))
            return begun(it)

    def run(tally: Tally, number: int) -> None:
        slices, seconds = (SLICES, SLICE) if watches is None else (SLICES_WATCHED, SLICE_WATCHED)
        times: list[tuple[float, float]] = []
        for pair in range(PAIRS if watches is None else PAIRS_WATCHED):
            with tempfile.TemporaryDirectory() as folder:
                makers = [without, lambda folder=folder: with_it(folder)]
                made = [make() for make in (makers if pair % 2 else makers[::-1])]
                times.append(compared(tally, *(made if pair % 2 else made[::-1]), slices, seconds))
        of_with = median(each for each, _ in times)
        tally.extra |= {"with": of_with, "without": of_with / median(each / other for each, other in times)}
        if tally.thorough:
            for batch in pipeline:
                tally.add(batch, batch)

    return run


def begun(it: ps.Iterator[Any]) -> ps.Iterator[Any]:
    """Return an iterator that has begun."""
    next(it)
    return it


def compared(
    tally: Tally, without: ps.Iterator[Any], with_it: ps.Iterator[Any], slices: int, seconds: float
) -> tuple[float, float]:
    """Return the seconds that a batch takes with and without what watches, after slices of both in turn."""
    for it in (without, with_it):
        ends = perf_counter() + WARM_UP
        while perf_counter() < ends:
            took(it, 100)
    batches = max(int(500 * seconds / took(without, 500)), 1)
    took(with_it, batches)
    of_with = of_without = 0.0
    for number in range(slices):
        for counts in (True, False) if number % 2 else (False, True):
            if counts:
                of_with += took(with_it, batches)
            else:
                of_without += took(without, batches)
        tally.rows += 2 * batches * BATCH
    without.close()
    with_it.close()
    return of_with / (slices * batches), of_without / (slices * batches)


def took(it: ps.Iterator[Any], batches: int) -> float:
    """Return the seconds that some batches take."""
    began = perf_counter()
    for _ in range(batches):
        next(it)
    return perf_counter() - began


def columns() -> ps.Dataset[Any]:
    return ps.Dataset.range(ROWS).map(lambda x: x + 1, vectorized=True).shuffle(seed=0).batch(BATCH)


def elements() -> ps.Dataset[Any]:
    return ps.Dataset.range(ROWS).map(lambda x: x + 1, vectorized=False).shuffle(seed=0).batch(BATCH)


def arrays() -> ps.Dataset[Any]:
    return ps.Dataset.from_tensor_slices(np.arange(1, ROWS + 1)).shuffle(seed=0).batch(BATCH)


PIPELINES: dict[str, Callable[[], ps.Dataset[Any]]] = {"columns": columns, "elements": elements, "arrays": arrays}
