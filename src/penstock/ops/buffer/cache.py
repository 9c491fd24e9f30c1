"""Keep elements after the first epoch, in memory or on disk."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from penstock.core.arrays import Allocate, Rows
from penstock.core.budget import UNLIMITED, Account, Budget
from penstock.core.cached import cached_property
from penstock.core.errors import CacheWarning, CursorError
from penstock.core.frames import CodeLine, warn_at
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.index.blocked import Blocks
from penstock.index.epochs import positions
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, Reader, resumed
from penstock.plan.graph import post_order
from penstock.plan.ids import ordinals
from penstock.plan.node import Node
from penstock.plan.traits import Traits
from penstock.plan.types import Program, Spec
from penstock.storage.kept import KeptRows, KeptStream, MakeRows, handed_out, sealed_chunk

if TYPE_CHECKING:
    from penstock.ops.buffer.spill import Spill, SpilledStream


class Allowance:
    """The bytes that a cache keeps in memory: at most `most`, and what the budget of the run that began last allows.

    It `spills` if elements that it has no room for are kept elsewhere, so that nothing needs saying. Warnings are about
    the line `at` which the cache was made.
    """

    def __init__(self, most: int | None = None, *, spills: bool = False, at: CodeLine | None = None) -> None:
        self.nbytes = 0
        self._at = at
        self._most = UNLIMITED if most is None else most
        self._spills = spills
        self._told = False
        self._lock = threading.Lock()
        self._account: Account | None = None

    @property
    def room(self) -> int:
        """The bytes that may be kept in addition."""
        room = self._most - self.nbytes
        return room if self._account is None else min(room, self._account.room)

    def obey(self, budget: Budget, name: str) -> None:
        """Count what is kept in the budget of a run, which decides from now on whether more may be kept."""
        if self._account is not None and self._account.budget is budget:
            return
        if self._account is not None:
            self._account.close()
        self._account = account = budget.account(name, "cache")
        account.add(self.nbytes)
        weakref.finalize(self, account.close).atexit = False

    def grow(self, nbytes: int) -> bool:
        """Keep `nbytes` more; return false, and keep none, if there is no room for all of them."""
        with self._lock:
            if nbytes > self._most - self.nbytes or (self._account is not None and not self._account.grow(nbytes)):
                return False
            self.nbytes += nbytes
            return True

    def refuse(self, kept: int) -> None:
        """Say that no more than the `kept` elements are kept: once for the limit, and once in a run for its budget."""
        account = self._account
        if self._spills:
            return
        if account is not None and account.room < self._most - self.nbytes:
            if not account.noted:
                account.noted = True
                account.budget.note(
                    f"{account.name} keeps {kept:,} elements ({self.nbytes:,} bytes) and no more, because caches "
                    f"may keep {account.budget.cache_limit:,} bytes; it makes the others anew in every epoch: raise "
                    "Options(memory_budget=), cache smaller elements, such as encoded ones, or pass "
                    "cache(spill=True), which keeps the others on disk"
                )
        elif not self._told:
            self._told = True
            sentence = (  # in the same words in each process
                f"cache(limit_bytes={self._most}) keeps no more elements; it makes the others anew in every epoch: "
                "raise limit_bytes, or pass spill=True, which keeps them on disk"
            )
            warn_at(self._at, CacheWarning(sentence))

    def release(self) -> None:
        """Give all bytes back: other elements are kept from now on."""
        with self._lock:
            if self._account is not None:
                self._account.add(-self.nbytes)
            self.nbytes = 0

    def __reduce__(self) -> Any:
        most = None if self._most == UNLIMITED else self._most
        return partial(Allowance, most, spills=self._spills, at=self._at), ()


class RowsKept(Protocol):
    """The kept elements of an indexed plan, by position."""

    def missing(self, positions: Rows, /) -> Rows: ...
    def fetch(self, rows: Rows, make: MakeRows, out: Any = None, /) -> Chunk: ...


class StreamKept(Protocol):
    """The kept elements of a stream, from the first one on: see `KeptStream`."""

    @property
    def count(self) -> int: ...
    @property
    def complete(self) -> bool: ...
    def nearest(self, at: int, /) -> tuple[int, Mark]: ...
    def add(self, at: int, chunk: Chunk, after: Mark, /) -> None: ...
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
    def length(self, seeds: Sequence[int], /) -> int | None: ...
    def is_whole(self) -> bool: ...
    def lacks_stream(self, seeds: Sequence[int], /) -> bool: ...


class Store:
    """The elements and streams that a cache has kept in memory, for the latest set of seeds.

    Elements beyond the allowance go to the `spill`, if there is one.
    """

    def __init__(self, allowance: Allowance | None = None, spill: Spill | None = None, arguments: str = "") -> None:
        self.allowance = allowance or Allowance()
        self._spill = spill
        self._arguments = arguments
        self._key: Any = None
        self._kept: dict[str, Any] = {}  # rows, or a stream
        self._parts: dict[tuple[int, int], Store] = {}
        self._lock = threading.Lock()

    def label(self) -> str:
        """Return the arguments of the cache: none by default."""
        return self._arguments

    def obey(self, budget: Budget, name: str) -> None:
        self.allowance.obey(budget, name)

    def part(self, number: int, streams: int) -> Store:
        """Return the store of one of the `streams` that the input is cut into."""
        with self._lock:
            spill = None if self._spill is None else self._spill.part(number, streams)
            made = Store(self.allowance, spill, self._arguments)
            return self._parts.setdefault((number, streams), made)

    def rows(self, seeds: Sequence[int], count: int) -> KeptRows:
        """Return the kept ones of `count` rows, or of the elements of a stream that is kept as a whole."""
        if self.length(seeds) is not None:
            return self.stream(seeds).as_rows(count)
        return self._for(
            seeds, "rows", lambda spill: KeptRows(count, self.allowance, spill and spill.rows(seeds, count))
        )

    def stream(self, seeds: Sequence[int]) -> KeptStream | SpilledStream:
        """Return the kept elements of a stream."""

        def begin(spill: Spill | None) -> KeptStream | SpilledStream:
            kept = KeptStream(self.allowance)
            return kept if spill is None else spill.stream(seeds, kept)

        return self._for(seeds, "stream", begin)

    def length(self, seeds: Sequence[int]) -> int | None:
        """Return the number of elements of a stream that is kept as a whole; `None` of any other."""
        with self._lock:
            kept = self._kept.get("stream") if self._key == seeds else None
        return kept.count if kept is not None and kept.complete else None

    def is_whole(self) -> bool:
        """Return whether a stream is kept as a whole."""
        return "stream" in self._kept and self._kept["stream"].complete

    def lacks_stream(self, seeds: Sequence[int]) -> bool:
        """Return whether no pass has kept the stream here, as in a copy in another process."""
        return self._key != seeds or "stream" not in self._kept

    def _for(self, key: Any, kind: str, begin: Callable[[Spill | None], Any]) -> Any:
        with self._lock:
            if self._key != key:
                if self._kept:
                    self.allowance.release()
                self._key, self._kept = key, {}
            if kind not in self._kept:
                self._kept[kind] = begin(self._spill)
            return self._kept[kind]

    def __reduce__(self) -> Any:
        return Store, (self.allowance, self._spill, self._arguments)  # a copy in another process begins empty


@frozen()
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
            known, after = self._nearest(kept, at)
            yield Piece(chunk, ids, [at, after if known == at else None])
        if kept.complete and at == kept.count:
            return
        of_state, of_kept = (at if behind is not None else 0, behind), self._nearest(kept, at)
        begun, behind = max(of_state, of_kept, key=lambda known: known[0])
        try:
            yield from self._beyond(kept, inputs[0], epoch, at, begun, behind)
        except CursorError as error:
            if mark is not None:
                raise
            raise CursorError(
                f"{self.label()}: the stream has become shorter than the {at:,} elements that are kept of it; let it "
                "yield the same elements, or make the cache again"
            ) from error

    def _beyond(self, kept: Any, source: Open, epoch: int, at: int, begun: int, behind: Mark) -> Flow:
        """Yield the elements from `at` on, which are not kept yet; the input is read from `begun` on, at its mark."""
        with Reader(source, 0, behind) as reader:
            while begun < at and (piece := reader.read(at - begun)) is not None:  # not kept here
                begun += len(piece)
                kept.add(begun - len(piece), sealed_chunk(piece.chunk), (self._written, reader.mark))
            if begun < at:
                raise CursorError(
                    f"{self.label()}: the saved state comes after element {at - 1:,} of a stream that now ends after "
                    f"{begun:,} elements; it no longer yields the same elements"
                )
            while (piece := reader.read(MOST_READ)) is not None:
                chunk = sealed_chunk(piece.chunk)
                kept.add(at, chunk, (self._written, reader.mark))
                ids = ordinals(epoch, at, len(piece))
                at += len(piece)
                yield Piece(handed_out(chunk), ids, [at, reader.mark])
            kept.end(at)

    @cached_property
    def _written(self) -> tuple[str, ...]:
        """The operations of the input: a mark of others, rewritten or not, does not fit."""
        return tuple(node.label() for node in post_order(self.input))

    def _nearest(self, kept: Any, at: int) -> tuple[int, Mark]:
        """Return the number of elements, at most `at`, after which a mark of the input is known, and the mark."""
        count, known = kept.nearest(at)
        return (count, known[1]) if known is not None and known[0] == self._written else (0, None)

    def arguments(self) -> str:
        return self.store.label()

    @property
    def gatherable(self) -> KeptRows | None:
        """The kept elements, once all of them are in memory as arrays; the seeds must be those of a run."""
        kept = self._kept if self.input.indexed else None
        return kept if isinstance(kept, KeptRows) and kept.is_gatherable else None

    @property
    def _kept(self) -> RowsKept:
        return self.store.rows(self.seeds, self.stride)
