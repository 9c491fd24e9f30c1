"""The place of a task: a stretch of remote data, by which an executor can send it to a host that keeps that data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from penstock.core.arrays import Rows
from penstock.engine.tasks.read_ahead import source_rows
from penstock.engine.tasks.task import Task
from penstock.plan.node import Node
from penstock.sources.powers import fetched_row_bytes

PlaceOf: TypeAlias = Callable[[Task], int | None]
"""Function from a task to its place."""

STRETCH = 16 << 20  # bytes of a place: data of the largest request
MOSTLY = 2  # one in this many rows of a task lies in its place


def place_in(plan: Node) -> PlaceOf:
    """Return the function that tells the place of tasks of a plan: equal for equal data, in each epoch and process.

    A task has no place, `None`, if it reads local data, if its rows come from all over the data, as those of a
    `shuffle()` over everything, or if it is given elements.
    """
    rows_below = source_rows(plan, lambda node: fetched_row_bytes(getattr(node, "source", None)) > 0)

    def place(task: Task) -> int | None:
        if rows_below is None or len(task.given.chunk):
            return None
        for node, rows in rows_below(task.given.ids):
            row_bytes = fetched_row_bytes(getattr(node, "source", None))
            return _of_most(rows % node.stride // max(int(STRETCH / row_bytes), 1))
        return None

    return place


def _of_most(stretches: Rows) -> int | None:
    """Return the stretch in the middle if many rows are there; those of a run in order, or by blocks, are."""
    middle = int(np.partition(stretches, len(stretches) // 2)[len(stretches) // 2])
    return middle if MOSTLY * np.count_nonzero(stretches == middle) >= len(stretches) else None
