"""A rule about functions that get several elements in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from penstock.elements.chunks.chunk import Items
from penstock.elements.chunks.to_arrays import stack_all
from penstock.elements.nested.nesting import part_in
from penstock.elements.nested.structure import flatten, unflatten
from penstock.lint.written import Found, Written
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.group.batching import batching_of
from penstock.plan.functions import is_declared
from penstock.plan.graph import post_order

TOLERANCE = 0.01  # of the largest number of a row: what rounds otherwise in a call for several rows is far below


def function_of_other_rows(written: Written) -> Iterator[Found]:
    """A vectorized function computes the result for a row from other rows of the same call.

    How many rows a call gets depends on the machine, on workers and on the position, so the results do too. A function
    after `batch(n)` gets k batches in one call, not the n rows of one. Reduce over the axes of a row alone, or omit
    `vectorized=True`, so that the function gets one element at a time.
    """
    for node in post_order(written.plan):
        if not isinstance(node, Map | Filter) or not node.vectorized or id(node.input) not in written.firsts:
            continue
        function, element = node.functions[0], written.firsts[id(node.input)]
        if isinstance(node, Map) and node.on is not None:
            element = part_in(element, node.on)
        if not is_declared(function) and _depends_on_other_rows(function, element):
            row = "a batch" if batching_of(node.input) is not None else "one element"
            yield Found(
                node,
                f"the result of {node.label()} for a row depends on the other rows of the call (each row is {row})",
                "compute each row from that row alone, or omit vectorized=True to get one element at a time",
            )


def _depends_on_other_rows(function: Callable[..., Any], element: Any) -> bool:
    """Return whether the result for an element changes among rows of larger numbers, or of zeros."""

    def row(other: Callable[[np.ndarray], np.ndarray] | None = None) -> list[Any]:
        return _row_made(function, element, other)

    for other in (_larger, np.zeros_like):  # zeros are places in any table, and change no sum
        with suppress(Exception):  # a function that cannot take such numbers is not known to be wrong
            alone = row()
            if _are_alike(alone, row()):
                return not _are_alike(alone, row(other))
    return False


def _row_made(
    function: Callable[..., Any], element: Any, other: Callable[[np.ndarray], np.ndarray] | None
) -> list[Any]:
    """Return the result for an element alone, or among `other` rows, leaf by leaf."""
    rows, at = (1, 0) if other is None else (4, 1)  # not in the middle, where it would stay in reversed rows
    structure, columns = stack_all(Items([element] * rows), np.arange(rows), out=None, allocate=np.empty)
    for column in columns:
        if other is not None and isinstance(column, np.ndarray) and column.dtype.kind in "biufc":
            column[[0, 2, 3]] = other(column[:1])
    taken = unflatten(structure, columns)
    with np.errstate(all="ignore"):
        made = function(*taken) if type(taken) is tuple else function(taken)
    return [np.asarray(leaf)[at] for leaf in flatten(made)[0]]


def _larger(row: np.ndarray) -> np.ndarray:
    return ~row if row.dtype.kind == "b" else row * 2 + 1


def _are_alike(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(_is_alike, one, other))


def _is_alike(one: Any, other: Any) -> bool:
    if one.shape != other.shape:
        return False
    if one.dtype.kind not in "fc" or not one.size:
        return np.array_equal(one, other)
    largest = np.max(np.abs(one), initial=0, where=np.isfinite(one))
    return np.allclose(one, other, rtol=0, atol=TOLERANCE * float(largest), equal_nan=True)
