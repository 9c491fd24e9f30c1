"""Results of a function as columns, each result taken apart as soon as it is made."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF, flatten
from penstock.kernels.results import results_apart

_NUMBERS: dict[type, np.dtype[Any]] = {cls: np.dtype(cls) for cls in (bool, int, float)}
_COPIED_AS_BYTES = "biufcmMSU"


def results_in_columns(
    function: Callable[[Any], Any], elements: list[Any], out: list[np.ndarray] | None
) -> Columns | None:
    """Return the results of a function that only reads as columns, in the memory of their leaves where they fit.

    Only one result exists at a time, while it and its element are in the core's cache: a task has more elements than
    that cache has room for. Arrays without memory are those of the results, perhaps of the elements. Results that are
    not dicts or tuples of numbers, texts and arrays, or that differ in their types, give `None`, as does a call that
    fails: the function is then to be called again, for each element.

    >>> results_in_columns(lambda row: {"n": row["n"] + 1, "name": row["name"]}, [{"n": 3, "name": "a"}], None).columns
    [array([4]), ['a']]
    """
    first: Any = None
    with suppress(Exception):  # it is raised again
        first = None if type(elements[0]) is tuple else function(elements[0])
    if first is None:
        return None
    leaves, structure = flatten(first)
    if type(first) is dict and len(leaves) == len(first):
        keys: Any = list(structure.treespec.entries())
    else:
        keys = None if structure is LEAF else len(leaves)
    given = out if out is not None and len(out) == len(leaves) else [None] * len(leaves)
    places = [_place(leaf, memory, len(elements)) for leaf, memory in zip(leaves, given, strict=True)]
    columns = results_apart(function, elements, first, keys, places)
    return None if columns is None else Columns(structure, [*columns], len(elements))


def _place(leaf: Any, memory: np.ndarray | None, count: int) -> np.ndarray | None:
    """Return the memory of a column whose first value is `leaf`, new memory for numbers, or `None` for a list."""
    dtype = _NUMBERS.get(type(leaf))
    if dtype is not None:
        return memory if memory is not None and _fits(memory, (count,), dtype) else np.empty(count, dtype)
    if memory is None or type(leaf) is not np.ndarray or leaf.dtype.kind not in _COPIED_AS_BYTES:
        return None
    return memory if leaf.flags.c_contiguous and _fits(memory, (count, *leaf.shape), leaf.dtype) else None


def _fits(memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return memory.shape == shape and memory.dtype == dtype and memory.flags.c_contiguous
