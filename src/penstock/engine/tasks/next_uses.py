"""The order in which a run will read remote objects, and the bytes that it may request ahead."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from time import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.budget import Account
from penstock.engine.tasks.read_ahead import FETCHED_AHEAD, fetched_bytes, source_rows
from penstock.plan.node import Node
from penstock.plan.types import INFINITE_STRIDE
from penstock.sources.powers import fetched_row_bytes, file_starts_of, paths_of
from penstock.storage.remote.disk import disk_cache_of
from penstock.storage.remote.fetcher import fetcher
from penstock.storage.remote.orders import USE, ToldOrder

PARTS_OF_EPOCH = 32  # in each of which objects are looked for
SAMPLED = 128  # rows of a part
MOST_TOLD_OF = 1 << 12  # objects of a source; if there are more, they are small
RENEWED_EVERY = 10.0  # seconds
SHARE = 2  # the part of a budget that may be requested ahead: items need the rest
_RATE = 100e6  # bytes a second, until it is measured


class FetchRoom:
    """The bytes that may be requested ahead. All that this process has requested counts, whichever run it was for."""

    def __init__(self, account: Account) -> None:
        """Count the bytes requested in `account`."""
        self._account = account
        self.close = account.close

    def __call__(self) -> int:
        """Return the bytes that may be requested now."""
        account, held = self._account, fetcher().ahead_bytes
        account.add(held - account.nbytes)
        return max(min(FETCHED_AHEAD, account.budget.limit_ahead // SHARE, account.left + held), 0)


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
        self._sources: dict[int, _Objects] = {}  # by node

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
        self._find(position, self._stride, begin, "next")
        self._find(0, self._stride, begin + self._stride, "again")
        uses: dict[str, list[NDArray[Any]]] = defaultdict(list)
        for objects in self._sources.values():
            if objects.folder is not None:
                uses[objects.folder].append(objects.uses(position, self._stride, self._seconds, now))
        for folder, parts in uses.items():
            is_new = folder not in self._told
            if is_new:
                self._told[folder] = ToldOrder(folder)
            self._told[folder].tell(np.concatenate(parts))
            for objects in self._sources.values():
                if is_new and objects.cache is not None and objects.folder == folder:
                    objects.cache.look_again()  # the order takes room there

    def close(self) -> None:
        """Take back what was told."""
        told, self._told = self._told, {}
        for each in told.values():
            each.close()

    def _find(self, low: int, high: int, begin: int, which: str) -> None:
        """Note the first of the positions `low` to `high` at which a sample shows each object."""
        assert self._rows_below is not None  # noqa: S101 - for the type checker
        for objects in self._sources.values():
            objects.places[which][:] = np.nan
        bounds = np.linspace(low, high, PARTS_OF_EPOCH + 1).astype(np.int64).tolist()
        for part, end in reversed(list(pairwise(bounds))):  # so that the first one stays
            if part < end:
                rows = np.arange(part, end, max((end - part) // self._sampled, 1)) + begin
                for node, its_rows in self._rows_below(rows):
                    if id(node) not in self._sources:
                        self._sources[id(node)] = _Objects(node)
                    self._sources[id(node)].found(its_rows, part, which)


class _Objects:
    """The objects of a source, with the position of the next use of each; NaN where none was found."""

    def __init__(self, node: Node) -> None:
        source: Any = getattr(node, "source", None)
        paths, starts = paths_of(source), file_starts_of(source)
        cache = None if starts is None else disk_cache_of(paths[0])  # type: ignore[arg-type] - a remote file
        self.cache = cache
        self.folder = None if cache is None else cache.folder
        self._starts = np.zeros(1, np.int64) if starts is None else starts
        self._length = node.stride
        self._names = np.array([] if cache is None else [cache.name_of(path).encode() for path in paths], "S32")  # type: ignore[arg-type]
        self.places = {name: np.full(len(paths), np.nan) for name in ("next", "again")}

    def found(self, rows: Rows, position: int, which: str) -> None:
        """Note that rows of the source are read at a position."""
        self.places[which][np.searchsorted(self._starts, rows % self._length, "right") - 1] = position

    def uses(self, position: int, stride: int, seconds: float, now: float) -> NDArray[Any]:
        """Return the times of the next uses, `USE[k]`, for a position that takes some seconds."""
        made = np.empty(len(self._names), USE)
        left, after = self.places["next"], self.places["again"]
        made["name"] = self._names
        made["again"] = now + seconds * (stride - position + np.where(np.isnan(after), stride // 2, after))
        made["next"] = np.where(np.isnan(left), made["again"], now + seconds * (left - position))
        return made


def _has_few_objects(node: Node) -> bool:
    source = getattr(node, "source", None)
    return fetched_row_bytes(source) > 0 and len(paths_of(source)) <= MOST_TOLD_OF
