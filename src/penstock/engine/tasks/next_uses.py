"""The objects of remote stores that a run will read, and when: told to the local cache, which keeps by it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import time
from typing import Any

import numpy as np

from penstock.engine.tasks.read_ahead import fetched_bytes, source_rows
from penstock.plan.node import Node
from penstock.plan.types import INFINITE_STRIDE
from penstock.sources.powers import fetched_row_bytes, file_starts_of, paths_of
from penstock.storage.remote.disk import disk_cache_of
from penstock.storage.remote.orders import NextUse, ToldOrder

PARTS_OF_EPOCH = 64  # of an epoch, in each of which objects are looked for
SAMPLED = 512  # rows of a part
MOST_TOLD_OF = 1 << 14  # of a source; if there are more, they are small
RENEWED_EVERY = 10.0  # seconds
_RATE = 100e6  # bytes a second, until it is measured


class NextUses:
    """The next uses of the objects that an indexed plan reads: a sample of the rest of the epoch and of the next.

    They are told again every ten seconds, while the run moves on.
    """

    def __init__(self, plan: Node, base: Node, size: int, clock: Callable[[], float] = time) -> None:
        """Look at a plan whose positions are `size` rows of its indexed `base` each."""
        self._rows_below = source_rows(plan, _has_few_objects)
        self._stride = base.stride
        self._sampled = max(SAMPLED // size, 1)  # positions
        self._seconds = size * fetched_bytes(base) / _RATE  # of a position
        self._clock = clock
        self._first: tuple[float, int] | None = None
        self._due = 0.0
        self._told: dict[str, ToldOrder] = {}  # by folder
        self._objects: dict[int, list[tuple[str, str] | None]] = {}  # folder and name, by source

    def look(self, position: int, begin: int) -> None:
        """Tell the order if it is time to; tasks have begun for all positions before this one.

        The rows of the epoch begin at `begin`.
        """
        now = self._clock()
        if now < self._due or self._rows_below is None or self._stride == INFINITE_STRIDE:
            return
        self._due = now + RENEWED_EVERY
        self._first = self._first or (now, position)
        if position > self._first[1]:
            self._seconds = (now - self._first[0]) / (position - self._first[1])
        of_folder: dict[str, dict[str, NextUse]] = defaultdict(dict)
        for (folder, name), use in self._uses(position, begin, now).items():
            of_folder[folder][name] = use
        for folder, uses in of_folder.items():
            if folder not in self._told:
                self._told[folder] = ToldOrder(folder)
            self._told[folder].tell(uses)

    def close(self) -> None:
        """Take back what was told."""
        told, self._told = self._told, {}
        for each in told.values():
            each.close()

    def _uses(self, position: int, begin: int, now: float) -> dict[tuple[str, str], NextUse]:
        stride, seconds = self._stride, self._seconds
        this = self._firsts(position, stride, begin)
        after = self._firsts(0, stride, begin + stride)
        uses: dict[tuple[str, str], NextUse] = {}
        for found in this.keys() | after.keys():
            again = now + seconds * (stride - position + after.get(found, stride // 2))
            uses[found] = NextUse(now + seconds * (this[found] - position) if found in this else again, again)
        return uses

    def _firsts(self, low: int, high: int, begin: int) -> dict[tuple[str, str], int]:
        """Return the first of the positions `low` to `high` at which each object is read, as far as a sample shows."""
        found: dict[tuple[str, str], int] = {}
        bounds = np.linspace(low, high, PARTS_OF_EPOCH + 1).astype(np.int64).tolist()
        for part, end in pairwise(bounds):
            if part < end:
                for each in self._read(np.arange(part, end, max((end - part) // self._sampled, 1)) + begin):
                    found.setdefault(each, part)
        return found

    def _read(self, rows: Any) -> Iterator[tuple[str, str]]:
        """Yield the objects that these rows are read from."""
        assert self._rows_below is not None  # noqa: S101 - for the type checker
        for node, its_rows in self._rows_below(rows):
            source = getattr(node, "source", None)
            starts = file_starts_of(source)
            if starts is None:
                continue
            objects = self._objects.get(id(node))
            if objects is None:
                objects = self._objects[id(node)] = [_place(path) for path in paths_of(source)]
            for file in np.unique(np.searchsorted(starts, its_rows % node.stride, "right") - 1).tolist():
                if (place := objects[file]) is not None:
                    yield place


def _has_few_objects(node: Node) -> bool:
    source = getattr(node, "source", None)
    return fetched_row_bytes(source) > 0 and len(paths_of(source)) <= MOST_TOLD_OF


def _place(path: Any) -> tuple[str, str] | None:
    """Return the folder of the cache of an object, and its name there; `None` if it is not kept."""
    cache = disk_cache_of(path)
    return None if cache is None else (cache.folder, cache.name_of(path))
