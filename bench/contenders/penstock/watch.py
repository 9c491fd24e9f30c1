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
SECONDS = 2.5  # of slices of each side, in turn
SLICE, LONG_SLICE = 0.01, 0.2  # s; what is asked for looks at the clock, and must not think that it is paused


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

    def run(tally: Tally, number: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            with unwatched():
                without = pipeline.repeat().iterator()
                next(without)
            with nullcontext() if counts else unwatched():
                with_it = pipeline.repeat().iterator()
                if watches is not None:
                    getattr(with_it, watches)(os.path.join(folder, watches))
                next(with_it)
            compare(tally, without, with_it, SLICE if watches is None else LONG_SLICE)
        if tally.thorough:
            for batch in pipeline:
                tally.add(batch, batch)

    return run


def compare(tally: Tally, without: ps.Iterator[Any], with_it: ps.Iterator[Any], seconds: float) -> None:
    """Take slices of both in turn; note the median ratio of neighbors, and the time of a batch that it stands for."""
    took(without, 2000)
    batches = max(int(2000 * seconds / took(without, 2000)), 1)
    took(with_it, batches)
    times: list[tuple[float, float]] = []
    for number in range(int(SECONDS / seconds)):
        if number % 2:
            times.append((took(with_it, batches), took(without, batches)))
        else:
            of_without = took(without, batches)
            times.append((took(with_it, batches), of_without))
        tally.rows += 2 * batches * BATCH
    without.close()
    with_it.close()
    of_with = median(each for each, _ in times) / batches
    tally.extra |= {"with": of_with, "without": of_with / median(each / other for each, other in times)}


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
