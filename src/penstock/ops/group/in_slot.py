"""Make groups one by one, each in its place in the memory for all."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from penstock.core.arrays import Allocate
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.nested.structure import flatten

OptionalSlot: TypeAlias = list[np.ndarray] | None
"""Memory for some elements, one array of shape (elements, ...) for each leaf; `None` if there is none."""


class InSlot:
    """The memory of one group after another, for callers that allocate arrays of these shapes and dtypes."""

    def __init__(self, out: OptionalSlot, groups: int, allocate: Allocate) -> None:
        self._out = [array for array in out or () if not array.dtype.hasobject and len(array) == groups]
        self._whole = out if out is not None and len(self._out) == len(out) else None
        self._allocate = allocate
        self._free: list[np.ndarray] = []
        self._groups: list[list[np.ndarray]] = []
        self._is_short = False

    def next(self, rows: int | None = None) -> Allocate:
        """Return the function that allocates memory for the next group; of `rows` rows, if it may be a short one."""
        if not self._out:
            return self._allocate
        places = [array[len(self._groups)] for array in self._out]
        if rows is not None and any(place.ndim and len(place) > rows for place in places):
            self._is_short = True
            places = [place[:rows] if place.ndim else place for place in places]
        self._free = places.copy()
        self._groups.append(places)
        return self._place

    def whole(self, made: list[Any]) -> Chunk:
        """Return the groups: as columns, if every leaf of each group is in its place in the memory and fills it."""
        if self._whole is None or not made or self._is_short:
            return Items(made)
        taken = [flatten(element) for element in made]
        structure = taken[0][1]
        for (leaves, its_structure), places in zip(taken, self._groups, strict=True):
            if its_structure != structure or len(leaves) != len(places) or not all(map(_is_there, leaves, places)):
                return Items(made)
        columns: list[Column] = [*self._whole]
        return Columns(structure, columns, len(made))

    def _place(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        for at, memory in enumerate(self._free):
            if memory.shape == shape and memory.dtype == dtype:
                return self._free.pop(at)
        return self._allocate(shape, dtype)


def for_elements(memory: np.ndarray, groups: int, count: int) -> np.ndarray:
    """Return memory for k groups of b elements as memory for `count` elements, if it has room and the right shape.

    >>> for_elements(np.zeros((2, 3, 5)), 2, 4).shape
    (4, 5)
    """
    if memory.ndim < 2 or len(memory) != groups or memory.shape[0] * memory.shape[1] < count:
        return memory
    return memory.reshape(groups * memory.shape[1], *memory.shape[2:])[:count]


def or_else(memory: np.ndarray, allocate: Allocate) -> Allocate:
    """Return a function that returns `memory` for an array of its shape and dtype, and allocates any other.

    >>> or_else(memory := np.zeros(2), np.empty)((2,), np.dtype("f8")) is memory
    True
    """
    return lambda shape, dtype: memory if memory.shape == shape and memory.dtype == dtype else allocate(shape, dtype)


def _is_there(leaf: object, place: np.ndarray) -> bool:
    return leaf is place
