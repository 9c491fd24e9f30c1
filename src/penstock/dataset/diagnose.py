"""A diagnosis in half a minute: a dataset as it is, the step alone, and up to each operation at several widths."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np

from penstock.core.checks import check_function, check_number
from penstock.core.frozen import frozen
from penstock.core.options import Options
from penstock.core.shown import displayable
from penstock.core.verdicts import Verdict
from penstock.dataset.dataset import Dataset
from penstock.elements.spec import ArraySpec
from penstock.memory.limits import available_cores
from penstock.ops.buffer.options import WithOptions, options_of
from penstock.ops.group.grouping import Grouping
from penstock.plan.graph import post_order
from penstock.watch.stats import PLURALS, rate

if TYPE_CHECKING:
    from penstock.core.arrays import Allocate, Rows
    from penstock.elements.chunks.chunk import Chunk
    from penstock.plan.node import Node
    from penstock.plan.types import Spec

T = TypeVar("T")

SHARE_AS_IS = 0.3  # of the time
SHARE_OF_STEP = 0.1
LATEST = 1.2  # of the time, after which nothing more is measured
MOST_WIDTHS = 4


@frozen()
class WidthRates:
    """The elements per second of the pipeline up to and with one operation, by the number of workers.

    Numbers of workers for which no time was left are missing.
    """

    operation: str
    by_workers: dict[int, float]

    def text(self, workers: int) -> str:
        """Return the rate with this number of workers."""
        found = self.by_workers.get(workers)
        return "no time left" if found is None else f"{rate(found)}/s"


@frozen(repr=False)
class Diagnosis:
    """Rates of a dataset, in items (batches or elements) per second.

    - `rate`: as it is, with the step; `verdict`: what limited that.
    - `step_rate`: the step alone, on one batch again and again: an upper bound that no pipeline can pass; `None`
      without a step.
    - `operations`: from the sources up, the elements per second of the pipeline up to and with each operation, by the
      number of workers. The operation at which they fall is the one that costs.

    >>> diagnose(Dataset.range(64).map(abs).batch(4), seconds=0.3)
    as it is: ... batches/s
    ...
    up to             1 worker...
    range(64)         ...
    """

    unit: str
    rate: float
    verdict: Verdict
    step_rate: float | None
    operations: tuple[WidthRates, ...]

    def __repr__(self) -> str:
        items = PLURALS[self.unit]
        lines = [f"as it is: {rate(self.rate)} {items}/s"]
        if self.step_rate is not None:
            lines.append(f"the step alone, on one {self.unit} again and again: {rate(self.step_rate)} {items}/s")
        lines += [self.verdict, "", *self._table()]
        return displayable("\n".join(lines))

    def _table(self) -> list[str]:
        widths = list(self.operations[0].by_workers) if self.operations else []
        head = ["up to", *(f"{width} worker{'s' if width > 1 else ''}" for width in widths)]
        rows = [[each.operation, *(each.text(width) for width in widths)] for each in self.operations]
        sizes = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        return [
            "  ".join([name.ljust(sizes[0]), *(cell.rjust(size) for cell, size in zip(cells, sizes[1:], strict=True))])
            for name, *cells in [head, *rows]
        ]


def diagnose(ds: Dataset[T], step: Callable[[T], object] | None = None, *, seconds: float = 30.0) -> Diagnosis:
    """Measure what limits a dataset, in about `seconds`: as it is, its step alone, and up to each operation.

    The time until worker processes have started is not measured, and comes on top of `seconds`.

    `step(batch)` is what your loop does with a batch; it should wait for its result, on a GPU by
    `torch.cuda.synchronize()`. The functions of the dataset are called as in a run, repeatedly over epoch 0, and caches
    are filled. The positions of passes over `ds` do not change.

    >>> found = diagnose(Dataset.range(64).batch(4), lambda batch: None, seconds=0.3)
    >>> found.rate > 0, found.step_rate > found.rate, [each.operation for each in found.operations]
    (True, True, ['range(64)', 'batch(4)'])
    """
    if not isinstance(ds, Dataset):
        raise TypeError(f"diagnose(): expected a Dataset, not {type(ds).__name__}")
    if step is not None:
        check_function("diagnose", "step", step, "a function of a batch")
    if not check_number("diagnose", "seconds", seconds) > 0:
        raise ValueError(f"diagnose(seconds={seconds}): expected a number above 0")
    ends = perf_counter() + LATEST * seconds
    plan, options = ds._plan, options_of(ds._plan)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - ours
    as_is = _measured(ds, SHARE_AS_IS * seconds, step)
    ends += as_is.starting
    step_rate = None if step is None or as_is.last is None else _step_rate(step, as_is.last[0], SHARE_OF_STEP * seconds)
    nodes = [node for node in post_order(plan) if not node.internal and not isinstance(node, WithOptions)]
    widths = _widths(options.cores)
    share = (1 - SHARE_AS_IS - SHARE_OF_STEP) * seconds / max(len(nodes) * len(widths), 1)
    operations = [WidthRates(node.label(), {}) for node in nodes]
    asked = _as_asked(nodes)
    for width in widths:
        parts = [_up_to(node, options, width) for node in asked]  # which share their processes
        for found, node, part in zip(operations, asked, parts, strict=True):
            if perf_counter() < ends:  # an item may take longer than its share of the time
                measured = _measured(part, share, count=int if isinstance(node, _Counted) else None)
                found.by_workers[width] = measured.rate
                ends += measured.starting
    return Diagnosis(as_is.unit, as_is.rate, as_is.verdict, step_rate, tuple(operations))


def _widths(most: int | None = None) -> list[int]:
    """Return the numbers of workers: 1, and up to three larger ones, the last of which is the number of cores.

    >>> _widths()[0], _widths(1)
    (1, [1])
    """
    cores = max(math.floor(min(available_cores(), most or math.inf)), 1)
    larger = {max(cores >> power, 1) for power in range(MOST_WIDTHS - 1)}
    return sorted({1, *larger})


@frozen()
class _Counted(Grouping):
    """Count `size` consecutive elements, which are asked for together, as a batch asks for them."""

    def spec(self) -> Spec:
        return ArraySpec((), np.dtype(np.int64))

    def collect(self, chunk: Chunk, rows: Rows, allocate: Allocate) -> int:
        return len(chunk)


def _as_asked(nodes: Sequence[Node]) -> list[Node]:
    """Return the nodes from the sources up, those below a batch with counts of as many elements as it asks for.

    Elements that are asked for one at a time take several times as long, most of all those of a stream.
    """
    asked: list[Node] = []
    size = 1
    for node in reversed(nodes):
        asked.append(_Counted(node, size) if size > 1 else node)
        size = node.size if isinstance(node, Grouping) else size
    return asked[::-1]


def _up_to(node: Node, options: Options, width: int) -> Dataset[Any]:
    """Return the dataset of the plan up to a node; one worker is the consumer's thread, as by default."""
    if width == 1 and options.executor in (None, "auto"):
        ran = replace(options, executor="inline", workers=None)
    else:
        ran = replace(options, workers=width)
    return Dataset[Any](node).with_options(ran)


class _Measured(NamedTuple, Generic[T]):
    """A rate, the verdict of the pass with the most items, and the seconds until other processes had started."""

    rate: float
    verdict: Verdict
    unit: str
    last: tuple[T] | None
    starting: float


def _measured(
    ds: Dataset[T],
    seconds: float,
    step: Callable[[T], object] | None = None,
    count: Callable[[T], int] | None = None,
) -> _Measured[T]:
    """Take items for some seconds, at least one, once the processes that make them have started.

    An item stands for one, or for as many as `count` says. The verdict is that of the pass with the most items: the
    last one may be short.
    """
    first = began = perf_counter()
    taken, most, last = 0, -1, None
    verdict, unit, starts = Verdict(""), "element", True
    while True:
        received = 0
        with ds.iterator(epoch=0) as it:
            for item in it:
                if step is not None:
                    step(item)
                taken, last = taken + (count(item) if count is not None else 1), (item,)
                received += 1
                now = perf_counter()
                if starts:
                    session = it._run.session  # noqa: SLF001 # pyright: ignore[reportPrivateUsage, reportOptionalMemberAccess]
                    if session.isolated is not None or session.made_elsewhere:
                        began, taken = now, 0
                    starts = session.waits_for_processes
                if now - began >= seconds:
                    break
            if received > most:
                most, verdict, unit = received, it.verdict(), it.stats().unit
        passed = perf_counter() - began
        if passed >= seconds or not received:
            return _Measured(taken / passed, verdict, unit, last, began - first)


def _step_rate(step: Callable[[T], object], item: T, seconds: float) -> float:
    began, done = perf_counter(), 0
    while True:
        step(item)
        done += 1
        if (passed := perf_counter() - began) >= seconds:
            return done / passed
