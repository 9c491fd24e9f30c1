"""The values that functions read, kept to find out whether the program has changed one of them since."""

from __future__ import annotations

import types
from collections.abc import Mapping
from operator import is_
from typing import Any

import numpy as np

from penstock.plan.safety.instructions import ABSENT

COMPARED_ITEMS = 4096  # of all containers: a comparison costs 50 ns each
COMPARED_BYTES = 1 << 20  # of all arrays: a comparison costs 0.1 ms


class Reads:
    """Variables, containers, attributes and arrays, as they were when they were added.

    >>> table = [1, 2]
    >>> reads = Reads()
    >>> reads.add(table)
    >>> reads.changed
    False
    >>> table[0] = 5
    >>> reads.changed
    True
    """

    def __init__(self) -> None:
        self._names: list[tuple[Mapping[str, Any], str, Any]] = []
        self._cells: list[tuple[types.CellType, Any]] = []
        self._lists: list[tuple[list[Any], list[Any]]] = []
        self._dicts: list[tuple[dict[Any, Any], list[Any], list[Any]]] = []
        self._sets: list[tuple[set[Any], set[Any]]] = []
        self._arrays: list[tuple[np.ndarray, tuple[Any, ...]]] = []
        self._items = self._bytes = 0
        self.modules: set[str] = set()
        """The names of the user's modules whose functions and classes are used."""

    @property
    def is_large(self) -> bool:
        """True if a comparison before each task would cost too much."""
        return self._items > COMPARED_ITEMS or self._bytes > COMPARED_BYTES

    def add_name(self, names: Mapping[str, Any], name: str) -> None:
        """Add a variable of a module, or an attribute of a class."""
        self._names.append((names, name, names[name]))
        self._items += 1

    def add_cell(self, cell: types.CellType) -> None:
        """Add a variable of an enclosing function."""
        self._cells.append((cell, cell.cell_contents))
        self._items += 1

    def add(self, thing: Any) -> None:
        """Add the items of a container, the attributes of an object or the content of an array."""
        if isinstance(thing, np.ndarray):
            self._bytes += thing.nbytes
            if not self.is_large:
                self._arrays.append((thing, _content(thing)))
            return
        self._items += len(thing)
        if self.is_large:
            return
        if type(thing) is list:
            self._lists.append((thing, list(thing)))
        elif type(thing) is dict:
            self._dicts.append((thing, list(thing), list(thing.values())))
        elif type(thing) is set:
            self._sets.append((thing, set(thing)))

    @property
    def changed(self) -> bool:
        """True if anything is another object now, or has other items or content."""
        try:
            return not (
                all(names.get(name, ABSENT) is value for names, name, value in self._names)
                and all(cell.cell_contents is value for cell, value in self._cells)
                and all(_same(now, before) for now, before in self._lists)
                and all(_same(now, keys) and _same(now.values(), values) for now, keys, values in self._dicts)
                and all(now == before for now, before in self._sets)
                and all(_content(now) == before for now, before in self._arrays)
            )
        except (ValueError, RuntimeError):  # an empty cell; a container that another thread is changing
            return True


def _same(now: Any, before: list[Any]) -> bool:
    return len(now) == len(before) and all(map(is_, now, before))


def _content(array: np.ndarray) -> tuple[Any, ...]:
    return array.shape, array.dtype.str, array.tobytes()
