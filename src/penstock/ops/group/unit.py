"""The batching operation that made the items of a plan, and the number of elements in items."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, cast

import numpy as np

from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.ops.group.batching import Batching
from penstock.plan.node import Node, RowMap

NDIM = attrgetter("ndim")


def batching_of(plan: Node) -> Batching | None:
    """Return the batching operation that the plan ends in, even if moved or followed by maps, or `None`."""
    while not isinstance(plan, Batching):
        if plan.subplans:
            plan = plan.subplans[0]
        elif isinstance(plan, RowMap) or (plan.traits.one_to_one and plan.elementwise):
            (plan,) = plan.inputs
        else:
            return None
    return plan


def rows_in_all(chunk: Chunk, batches: list[Any]) -> int:
    """Return the number of elements in the batches of a chunk; columns are counted at once, arrays without Python."""
    if isinstance(chunk, Columns) and chunk.columns and isinstance(first := chunk.columns[0], np.ndarray):
        return len(batches) * (first.shape[1] if first.ndim > 1 else 1)
    firsts: list[Any] = [next(iter(batch.values()), 1) if type(batch) is dict else batch for batch in batches]
    if set(map(type, firsts)) == {np.ndarray} and all(map(NDIM, firsts)):
        return sum(map(len, firsts))
    return sum(map(rows_in, batches))


def rows_in(batch: Any) -> int:
    """Return the number of elements in a batch, padding included: the rows of its first array.

    >>> rows_in({"x": np.zeros((3, 2)), "y": 1}), rows_in((7, [np.zeros(2)])), rows_in("text")
    (3, 2, 1)
    """
    waiting = [batch]
    while waiting:
        value = waiting.pop()
        if isinstance(value, np.ndarray | Ragged | Sparse):
            return value.shape[0] or 0 if value.shape else 1
        if isinstance(value, dict | list | tuple):
            parts = cast("dict[Any, Any]", value).values() if isinstance(value, dict) else value
            waiting += reversed([*cast("list[Any]", parts)])
    return 1
