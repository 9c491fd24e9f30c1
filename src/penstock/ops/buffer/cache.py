"""Keep elements in memory after the first epoch."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.core.arrays import Allocate, Rows
from penstock.core.budget import CACHE_SHARE, Budget
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.footprint import memory_of
from penstock.index.blocked import Blocks
from penstock.index.epochs import positions
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.graph import post_order
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


class Store:
    """The elements and streams that a cache has kept, for one plan with one set of seeds."""

    def __init__(self, allowance: Allowance | None = None) -> None:
        self.allowance = allowance or Allowance()
        self._key: Any = None
        self._kept: Any = None
        self._parts: dict[int, Store] = {}
        self._lock = threading.Lock()

    def part(self, number: int) -> Store:
        """Return the store of one of the streams that the input is cut into."""
        with self._lock:
            return self._parts.setdefault(number, Store(self.allowance))

    def kept(self, key: Any, begin: Callable[[], Any]) -> Any:
        """Return the value kept for `key`; if there is none, keep the result of `begin`."""
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
    room for are made anew, and are read-only like the others.
    """

    traits = Traits(ids="counted", one_to_one=True, keeps_made=True)

    input: Node
    store: Store = field(metadata={"runs": True}, compare=False)

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        return self.input.spec()

    def obey(self, budget: Budget) -> None:
        """Keep elements within the budget of a run: further ones are made anew in every epoch."""
        self.store.allowance.obey(budget, self.label())

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
            wanted = positions(rows, self.stride)
            missing = kept.missing(wanted)
            if len(missing):
                made = source(missing)
                if not kept.put(missing, made):
                    return kept.among(wanted, missing, made)
            return kept.take(wanted, out)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Yield the kept elements, then read more of the input; with none kept, read on from the input's mark."""
        kept: KeptStream = self.store.kept(self._key, lambda: KeptStream(self.store.allowance.grow))
        at, behind = resumed(mark, (0, None))
        while at < kept.count:
            chunk, behind = kept.from_here(at), None
            ids = ordinals(0, at, len(chunk))
            at += len(chunk)
            yield Piece(chunk, ids, [at, None if at < kept.count else kept.after])
        if kept.complete and at == kept.count:
            return
        if at == kept.count:
            behind = kept.after
        begun = at if behind is not None or at == 0 else 0
        with Reader(inputs[0], 0, behind) as reader:
            while begun < at and (piece := reader.read(at - begun)) is not None:  # not kept here
                kept.add(begun, sealed_chunk(piece.chunk), reader.mark, memory_of(piece.chunk))
                begun += len(piece)
            while (piece := reader.read(MOST_READ)) is not None:
                chunk = sealed_chunk(piece.chunk)
                kept.add(at, chunk, reader.mark, memory_of(piece.chunk))
                ids = ordinals(0, at, len(piece))
                at += len(piece)
                yield Piece(handed_out(chunk), ids, [at, reader.mark])
            kept.end(at)

    @property
    def _kept(self) -> KeptRows:
        return self.store.kept(self._key, lambda: KeptRows(self.stride, self.store.allowance.grow))

    @property
    def _key(self) -> tuple[Any, ...]:
        """The seeds of all random operations below: elements kept for one set of seeds do not fit another."""
        return tuple(getattr(node, "seed", None) for node in post_order(self.input))
