"""Keep elements after the first epoch, in memory or on disk."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from penstock.core.arrays import Allocate, Rows
from penstock.core.budget import CACHE_SHARE, Budget
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.footprint import memory_of
from penstock.index.blocked import Blocks
from penstock.index.epochs import positions
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import Program, Spec
from penstock.storage.kept import KeptRows, KeptStream, handed_out, sealed_chunk


class Allowance:
    """The bytes that a cache keeps, counted in the budget of the run that began last.

    In another process, which has no run, the cache may keep as much as all caches of the run may here.
    """

    def __init__(self, limit: int | None = None) -> None:
        self.nbytes = 0
        budget = None if limit is None else Budget(CACHE_SHARE * limit)
        self._account = None if budget is None else budget.account("cache()", "cache")

    def obey(self, budget: Budget, name: str) -> None:
        """Count what is kept in the budget of a run, which decides from now on whether more may be kept."""
        if self._account is not None and self._account.budget is budget:
            return
        if self._account is not None:
            self._account.close()
        self._account = account = budget.account(name, "cache")
        account.add(self.nbytes)
        weakref.finalize(self, account.close).atexit = False

    def grow(self, nbytes: int, kept: int) -> bool:
        """Return whether `nbytes` more may be kept, beside the `kept` elements; note it once if not."""
        account = self._account
        if account is not None and not account.grow(nbytes):
            if not account.noted:
                account.noted = True
                account.budget.note(
                    f"{account.name} keeps {kept:,} elements ({account.nbytes:,} bytes) and no more, because caches "
                    f"may keep {account.budget.cache_limit:,} bytes; it makes the others anew in every epoch: raise "
                    "Options(memory_budget=), or cache smaller elements, such as encoded ones"
                )
            return False
        self.nbytes += nbytes
        return True

    def release(self) -> None:
        """Give all bytes back: other elements are kept from now on."""
        if self._account is not None:
            self._account.add(-self.nbytes)
        self.nbytes = 0

    def __reduce__(self) -> Any:
        return Allowance, (None if self._account is None else self._account.budget.cache_limit,)


class RowsKept(Protocol):
    """The kept elements of an indexed plan, by position."""

    def missing(self, positions: Rows, /) -> Rows: ...
    def fetch(self, rows: Rows, make: Callable[[Rows], Chunk], out: Any = None, /) -> Chunk: ...


class StreamKept(Protocol):
    """The kept elements of a stream, from the first one on: see `KeptStream`."""

    @property
    def count(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    def nearest(self, at: int, /) -> tuple[int, Mark]: ...
    def add(self, at: int, chunk: Chunk, after: Mark, nbytes: int, /) -> None: ...
    def end(self, at: int, /) -> None: ...
    def from_here(self, at: int, /) -> Chunk: ...


class KeepsElements(Protocol):
    """A store of elements for one plan; elements kept for one set of seeds do not fit another."""

    def label(self) -> str:
        """Return the arguments of the cache, for `explain()` and errors."""
        ...

    def obey(self, budget: Budget, name: str, /) -> None:
        """Keep no more in memory than the budget of a run allows."""
        ...

    def part(self, number: int, streams: int, /) -> KeepsElements: ...
    def rows(self, seeds: Sequence[int], count: int, /) -> RowsKept: ...
    def stream(self, seeds: Sequence[int], /) -> StreamKept: ...


class Store:
    """The elements and streams that a cache has kept in memory, for the latest set of seeds."""

    def __init__(self, allowance: Allowance | None = None) -> None:
        self.allowance = allowance or Allowance()
        self._key: Any = None
        self._kept: Any = None
        self._parts: dict[tuple[int, int], Store] = {}
        self._lock = threading.Lock()

    def label(self) -> str:
        """Return no arguments: those of a cache in memory."""
        return ""

    def obey(self, budget: Budget, name: str) -> None:
        self.allowance.obey(budget, name)

    def part(self, number: int, streams: int) -> Store:
        """Return the store of one of the `streams` that the input is cut into."""
        with self._lock:
            return self._parts.setdefault((number, streams), Store(self.allowance))

    def rows(self, seeds: Sequence[int], count: int) -> KeptRows:
        """Return the kept ones of `count` rows."""
        return self._for(seeds, lambda: KeptRows(count, self.allowance.grow))

    def stream(self, seeds: Sequence[int]) -> KeptStream:
        """Return the kept elements of a stream."""
        return self._for(seeds, lambda: KeptStream(self.allowance.grow))

    def _for(self, key: Any, begin: Callable[[], Any]) -> Any:
        with self._lock:
            if self._kept is None or self._key != key:
                if self._kept is not None:
                    self.allowance.release()
                self._key, self._kept = key, begin()
            return self._kept

    def __reduce__(self) -> Any:
        return Store, (self.allowance,)  # a copy in another process begins empty


@dataclass(frozen=True)
class Cache(Node):
    """Keep the elements of the input's first epoch, and yield those in every epoch.

    The store belongs to the plan, so everything built on it shares what is kept. Elements that the memory budget has no
    room for are made anew, and are read-only like the others. `seeds` are those derived for operations of the input.
    """

    traits = Traits(ids="counted", one_to_one=True, keeps_made=True)

    input: Node
    store: KeepsElements = field(metadata={"runs": True}, compare=False)
    seeds: tuple[int, ...] = field(default=(), metadata={"runs": True}, compare=False)

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        return self.input.spec()

    def obey(self, budget: Budget) -> None:
        """Keep elements within the budget of a run: further ones are made anew in every epoch."""
        self.store.obey(budget, self.label())

    def route(self, rows: Rows) -> tuple[Rows, ...]:
        return (positions(rows, self.stride),)

    def needed(self, rows: Rows) -> tuple[Rows, ...]:
        return (self._kept.missing(rows % self.stride),)

    def blocks(self, inputs: tuple[Blocks | None, ...]) -> Blocks | None:
        return inputs[0]

    def program(self, inputs: tuple[Program, ...], allocate: Allocate) -> Program:
        (source,) = inputs
        kept = self._kept

        def run(rows: Rows, out: Any = None) -> Chunk:
            return kept.fetch(positions(rows, self.stride), source, out)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Yield the kept elements, then read more of the input, from the nearest known mark of it on."""
        kept = self.store.stream(self.seeds)
        at, behind = resumed(mark, (0, None))
        while at < kept.count and len(chunk := kept.from_here(at)):
            ids = ordinals(epoch, at, len(chunk))
            at, behind = at + len(chunk), None
            known, after = kept.nearest(at)
            yield Piece(chunk, ids, [at, after if known == at else None])
        if kept.complete and at == kept.count:
            return
        begun, behind = max((at if behind is not None else 0, behind), kept.nearest(at), key=lambda known: known[0])
        with Reader(inputs[0], 0, behind) as reader:
            while begun < at and (piece := reader.read(at - begun)) is not None:  # not kept here
                begun += len(piece)
                kept.add(begun - len(piece), sealed_chunk(piece.chunk), reader.mark, memory_of(piece.chunk))
            while (piece := reader.read(MOST_READ)) is not None:
                chunk = sealed_chunk(piece.chunk)
                kept.add(at, chunk, reader.mark, memory_of(piece.chunk))
                ids = ordinals(epoch, at, len(piece))
                at += len(piece)
                yield Piece(handed_out(chunk), ids, [at, reader.mark])
            kept.end(at)

    def arguments(self) -> str:
        return self.store.label()

    @property
    def _kept(self) -> RowsKept:
        return self.store.rows(self.seeds, self.stride)
