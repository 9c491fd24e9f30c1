"""The batching operation that made the items of a plan, and the facts that it gives about them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.ops.elementwise.map import Map
from penstock.ops.group.batching import Batching
from penstock.plan.node import Node, RowMap


def batching_of(plan: Node) -> Batching | None:
    """Return the batching operation that the plan ends in, even if moved or followed by maps, or `None`."""
    while not isinstance(plan, Batching):
        if plan.subplans:
            plan = plan.subplans[0]
        elif isinstance(plan, RowMap | Map):
            plan = plan.input
        else:
            return None
    return plan


def rows_in(batch: Any) -> int:
    """Return how many elements a batch holds, padding included: the rows of its first leaf.

    >>> rows_in({"x": np.zeros((3, 2)), "y": 1}), rows_in(())
    (3, 1)
    """
    while isinstance(batch, dict | list | tuple) and batch:
        batch = next(iter(cast("dict[Any, Any]", batch).values() if isinstance(batch, dict) else batch))
    return batch.shape[0] or 0 if isinstance(batch, np.ndarray | Ragged | Sparse) and batch.shape else 1
