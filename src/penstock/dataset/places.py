"""Places of elements, as callers pass them: rows, and pairs of an epoch and a row."""

from __future__ import annotations

import operator
from typing import Any

from penstock.core.checks import whole
from penstock.core.errors import PlanError
from penstock.plan.graph import post_order
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN


def check_place(call: str, name: str, place: Any) -> None:
    """Raise a `TypeError` unless an argument is a whole number or a tuple."""
    if not isinstance(place, tuple):
        whole(call, name, place)


def epoch_and_row(row: Any) -> tuple[Any, Any]:
    """Return the epoch and the row that `row`, or `(epoch, row)`, is.

    >>> epoch_and_row(3), epoch_and_row((1, 3))
    ((0, 3), (1, 3))
    """
    if not isinstance(row, tuple):
        return 0, row
    if len(row) != 2:
        raise TypeError(f"ds[{', '.join(map(repr, row))}]: expected a row, or an epoch and a row")
    return row


def row_of(plan: Node, epoch: Any, position: Any) -> int:
    """Return the row, counted over all epochs, of a position in an epoch."""
    at, count = whole_place(position), plan.stride
    if not (-count if plan.length != INFINITE else 0) <= at < count:
        has = "is endless, and counts rows from 0" if plan.length == INFINITE else f"has {count} elements"
        raise IndexError(f"row {at} is out of range: the dataset {has}")
    if whole_place(epoch) < 0:
        raise IndexError(f"epoch {epoch}: epochs count from 0")
    return epoch * count + at % count


def whole_place(place: Any) -> int:
    """Return a row or an epoch as an `int`."""
    try:
        return operator.index(place)
    except TypeError:
        raise TypeError(f"ds[{place!r}]: expected a whole number, not {type(place).__name__}") from None


def check_indexed(plan: Node, but: str) -> None:
    """Raise a `PlanError` that names the first stream of a plan, unless any of its rows can be made alone."""
    if not plan.indexed:
        raise PlanError(f"the result of {first_stream(plan).label()} is a stream: {but}")


def first_stream(plan: Node) -> Node:
    """Return the first node, from the sources, at which the plan becomes a stream."""
    nodes = (node for node in post_order(plan) if not node.internal)
    return next(node for node in nodes if not node.indexed or node.length == UNKNOWN)
