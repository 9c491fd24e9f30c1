"""Keep elements in memory after the first epoch."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from penstock.core.arrays import Allocate, Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.index.blocked import Blocks
from penstock.index.epochs import positions
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.graph import post_order
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import Program, Spec
from penstock.storage.kept import KeptRows, KeptStream, handed_out, sealed_chunk


class Store:
    """The elements and streams that a cache has kept, for one plan with one set of seeds."""

    def __init__(self) -> None:
        self._key: Any = None
        self._kept: Any = None
        self._parts: dict[int, Store] = {}
        self._lock = threading.Lock()

    def part(self, number: int) -> Store:
        """Return the store of one of the streams that the input is cut into."""
        with self._lock:
            return self._parts.setdefault(number, Store())

    def kept(self, key: Any, begin: Callable[[], Any]) -> Any:
        """Return the value kept for `key`; if there is none, keep the result of `begin`."""
        with self._lock:
            if self._kept is None or self._key != key:
                self._key, self._kept = key, begin()
            return self._kept

    def __reduce__(self) -> Any:
        return Store, ()  # a copy in another process begins empty


@dataclass(frozen=True)
class Cache(Node):
    """Keep the elements of the input's first epoch, and yield those in every epoch.

    The store belongs to the plan, so everything built on it shares what is kept.
    """

    traits = Traits(ids="counted", one_to_one=True, keeps_made=True)

    input: Node
    store: Store = field(metadata={"runs": True}, compare=False)

    @cached_property
    def length(self) -> int:
        return self.input.length

    def spec(self) -> Spec | None:
        return self.input.spec()

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
                kept.put(missing, source(missing))
            return kept.take(wanted, out)

        return run

    def flow(self, inputs: tuple[Open, ...], epoch: int, mark: Mark, allocate: Allocate) -> Flow:
        """Yield the kept elements, then read more of the input; with none kept, read on from the input's mark."""
        kept: KeptStream = self.store.kept(self._key, KeptStream)
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
                kept.add(begun, sealed_chunk(piece.chunk), reader.mark)
                begun += len(piece)
            while (piece := reader.read(MOST_READ)) is not None:
                chunk = sealed_chunk(piece.chunk)
                kept.add(at, chunk, reader.mark)
                ids = ordinals(0, at, len(piece))
                at += len(piece)
                yield Piece(handed_out(chunk), ids, [at, reader.mark])
            kept.end(at)

    @property
    def _kept(self) -> KeptRows:
        return self.store.kept(self._key, lambda: KeptRows(self.stride))

    @property
    def _key(self) -> tuple[Any, ...]:
        """The seeds of all random operations below: elements kept for one set of seeds do not fit another."""
        return tuple(getattr(node, "seed", None) for node in post_order(self.input))
