"""Elements in blocks that are decoded as a unit: row groups, record batches, chunks, sections of a text file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.elements.nested.structure import Structure, flatten
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ArraySpec, LeafSpec, RaggedSpec, Spec
from penstock.index.blocked import Blocks
from penstock.kernels import gather
from penstock.sources.block_advice import BlockAdvice
from penstock.sources.block_parts import ArrayParts, Picks, column_parts, given, picked
from penstock.sources.powers import paths_of
from penstock.storage.recent import Recent
from penstock.storage.remote.file import are_remote

CACHE_BYTES = 1 << 30
"""Default size, in bytes, of a source's cache of decoded blocks."""
_DENSE = 16  # a mapped block is read ahead if at least one row in this many is wanted, since most pages are needed then
_NARROW = 64  # bytes of a row: narrower columns are gathered together


class Lazy(Protocol):
    """A column that makes values only for the requested rows: text, which is most expensive as Python objects."""

    @property
    def nbytes(self) -> int: ...

    def __len__(self) -> int: ...

    def take(self, rows: Rows) -> list[Any]: ...


DecodedColumn: TypeAlias = NDArray[Any] | Ragged | Lazy
"""One column of a decoded block of k rows."""


class Loose(Protocol):
    """A block with some unreadable rows: each row is made on request."""

    @property
    def nbytes(self) -> int: ...

    def columns(self, rows: Rows, /) -> list[DecodedColumn]:
        """Return the columns of some rows, or raise the error of the first unreadable row, its place as `element`."""
        ...


class BlockStore(Protocol):
    """A provider of blocks: picklable, and safe to decode from any number of threads."""

    @property
    def bounds(self) -> NDArray[np.int64]:
        """The first row of each block, and the end: strictly increasing from 0, shape `(m + 1,)`."""
        ...

    @property
    def name(self) -> str:
        """The call that made the store."""
        ...

    @property
    def spec(self) -> Spec:
        """The spec of one element."""
        ...

    @property
    def block_bytes(self) -> int | None:
        """The approximate number of bytes of a decoded block; `None` if decoding is almost free."""
        ...

    def decode(self, block: int) -> list[DecodedColumn] | Loose:
        """Return the columns of a block, in the order of the leaves of `spec`."""
        ...

    def check(self, blocks: Iterable[int]) -> None:
        """Raise a `DataError` after reading blocks if a file of theirs was changed; look at each file once."""
        ...

    # A store of local files also has `extents(block) -> Iterable[Extent]`.

    def describe(self, block: int, row: int) -> str:
        """Return the name of the record at `row` of a block, for messages."""
        ...

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the data."""
        ...


class DecodedBlock:
    """The columns of some consecutive rows.

    When scattered rows are picked, narrow columns are first packed row by row, so that one copy takes them all.
    """

    def __init__(self, columns: list[DecodedColumn]) -> None:
        self.columns = columns
        self.nbytes = sum(column.nbytes for column in columns)
        self._packed: NDArray[np.uint8] | None = None

    def packed(self, layout: np.dtype[Any], narrow: Sequence[int]) -> NDArray[np.uint8]:
        """Return the columns `narrow` packed row by row, shape `(k, bytes)`."""
        packed = self._packed
        if packed is None:
            records = np.empty(len(self.columns[narrow[0]]), layout)
            for place in narrow:
                records[f"f{place}"] = self.columns[place]
            packed = records.view(np.uint8).reshape(len(records), layout.itemsize)
            views: dict[int, DecodedColumn] = {place: records[f"f{place}"] for place in narrow}
            self.columns = [views.get(place, column) for place, column in enumerate(self.columns)]
            self._packed = packed
        return packed


@frozen(eq=False)
class BlockedSource:
    """The elements of a store, with up to `cache_bytes` of recent blocks; each block is decoded by one thread.

    Consecutive rows of a block are views; rows from several blocks are gathered block by block.
    """

    store: BlockStore
    cache_bytes: int = CACHE_BYTES

    @property
    def name(self) -> str:
        return self.store.name

    @property
    def length(self) -> int:
        return int(self.store.bounds[-1])

    def spec(self) -> Spec:
        return self.store.spec

    @property
    def file_starts(self) -> Rows:
        """The first row of each file, if the store has files."""
        return self.store.file_starts  # type: ignore[attr-defined] - such a store has them

    @cached_property
    def blocks(self) -> Blocks | None:
        """The blocks, if they are expensive to decode; a window and the next one fit the cache together."""
        size = self.store.block_bytes
        if size is None or not self.length:
            return None
        return Blocks(self.store.bounds, max(self.cache_bytes // (2 * max(size, 1)), 1))

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        memory: Sequence[NDArray[Any] | None] = out if out is not None and len(out) == len(self._specs) else ()
        if not len(rows):
            return Columns(self._structure, list(map(_no_rows, self._specs)), 0)
        bounds = self.store.bounds
        low, high = int(rows.min()), int(rows.max())
        if low < 0 or high >= self.length:
            row = low if low < 0 else high
            raise IndexError(f"{self.name}: row {row} is out of range: there are {self.length:,} rows")
        first = int(bounds.searchsorted(low, "right")) - 1
        if high < bounds[first + 1]:
            ((_, block),) = self._recent.each([first])
            self._count_used(first, len(rows))
            try:
                return self._of_one(*_whole(block, rows - bounds[first]), memory)
            finally:
                self.store.check([first])
        return self._of_several(rows, memory)

    @property
    def advise(self) -> Callable[[Rows], None] | None:
        """A function that asks the system to read the blocks of rows ahead, if the store knows their extents."""
        return None if self._advice is None else self._advise

    def _advise(self, rows: Rows) -> None:
        blocks, counts = np.unique(self.store.bounds.searchsorted(rows, "right") - 1, return_counts=True)
        if self.store.block_bytes is None:
            blocks = blocks[counts * _DENSE >= self.store.bounds[blocks + 1] - self.store.bounds[blocks]]
        if self._advice is not None:
            self._advice.tell(self._recent.missing(blocks.tolist()))

    def describe(self, row: int) -> str:
        block = int(self.store.bounds.searchsorted(row, "right")) - 1
        return self.store.describe(block, row - int(self.store.bounds[block]))

    @property
    def paths(self) -> Sequence[str]:
        """The files of the store, if any."""
        return paths_of(self.store)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the fingerprint of the store."""
        return self.store.fingerprint()

    def _of_one(self, block: DecodedBlock, rows: Rows, memory: Sequence[NDArray[Any] | None]) -> Columns:
        low = int(rows[0])
        run = len(rows) == 1 or (int(rows[-1]) - low == len(rows) - 1 and bool((np.diff(rows) == 1).all()))
        columns: list[Column] = []
        narrow = () if run else self._narrow
        fields = self._fields(gather(block.packed(self._layout, narrow), rows)) if narrow else {}
        for place, column in enumerate(block.columns):
            into = memory[place] if memory else None
            if place in fields:
                columns.append(given(fields[place], into))
            elif isinstance(column, np.ndarray):
                part = column[low : low + len(rows)] if run else None
                columns.append(picked(column, rows, into) if part is None else given(part, into))
            elif isinstance(column, Ragged):
                columns.append(column[low : low + len(rows)] if run else column.take(rows))
            else:
                columns.append(column.take(rows))
        return Columns(self._structure, columns, len(rows))

    def _of_several(self, rows: Rows, memory: Sequence[NDArray[Any] | None]) -> Columns:
        """Gather the rows of several blocks: first those of blocks that are in memory, then block by block."""
        owner = self.store.bounds.searchsorted(rows, "right") - 1
        order = np.argsort(owner, kind="stable")
        owner = owner[order]
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(owner)) + 1, [len(rows)]])
        numbers = owner[cuts[:-1]]
        spans = dict(zip(numbers.tolist(), pairwise(cuts.tolist()), strict=True))
        in_blocks = rows[order] - self.store.bounds[owner]
        try:
            return self._gathered(in_blocks, order, spans, memory)
        finally:
            self.store.check(spans)

    def _gathered(
        self, in_blocks: Rows, order: Rows, spans: dict[int, tuple[int, int]], memory: Sequence[NDArray[Any] | None]
    ) -> Columns:
        """Return the rows that are at the places `in_blocks` of the blocks of `spans`, each at its place in `order`."""
        narrow, layout, count = self._narrow, self._layout, len(order)
        packed = ArrayParts(np.empty((count, layout.itemsize), np.uint8))
        by_place = {
            place: column_parts(spec, count, memory[place] if memory else None)
            for place, spec in enumerate(self._specs)
            if place not in narrow
        }
        decoded = self._ahead(spans)
        for found in self._recent.groups(spans):
            blocks, picks = self._picks(found, in_blocks, order, spans)
            for number in found:
                decoded(number)
            if narrow:
                packed.put([block.packed(layout, narrow) for block in blocks], picks)
            for place, part in by_place.items():
                part.put([block.columns[place] for block in blocks], picks)
        fields = self._fields(packed.values) if narrow else {}
        columns: list[Column] = []
        for place in range(len(self._specs)):
            part = by_place.get(place)
            into = memory[place] if memory else None
            columns.append(given(fields[place], into) if part is None else part.done())
        return Columns(self._structure, columns, count)

    def _picks(
        self,
        found: dict[int, DecodedBlock | Loose],
        in_blocks: Rows,
        order: Rows,
        spans: dict[int, tuple[int, int]],
    ) -> tuple[list[DecodedBlock], Picks]:
        """Return the blocks found, and the rows to take of them; count these rows as used."""
        mine = [spans[number] for number in found]
        counts = [high - low for low, high in mine]
        if len(found) < len(spans):
            in_blocks = np.concatenate([in_blocks[low:high] for low, high in mine])
            order = np.concatenate([order[low:high] for low, high in mine])
        cuts = list(accumulate(counts, initial=0))
        blocks: list[DecodedBlock] = []
        for (number, block), low, count in zip(found.items(), cuts, counts, strict=False):
            self._count_used(number, count)
            if isinstance(block, DecodedBlock):
                blocks.append(block)
                continue
            try:
                whole, in_blocks[low : low + count] = _whole(block, in_blocks[low : low + count])
            except DataError as error:
                error.element = int(order[low + (error.element or 0)])
                raise
            blocks.append(whole)
        return blocks, Picks(cuts, np.repeat(np.arange(len(blocks)), counts), in_blocks, order)

    def _count_used(self, number: int, rows: int) -> None:
        """Count rows read of a block; once it is read to its end, it makes room for others first.

        Threads may count at the same time, and lose some: the block then stays as long as others.
        """
        used = self._used
        total = used.pop(number, 0) + rows
        if total < self._sizes[number]:
            used[number] = total
        else:
            self._recent.retire(number)

    def _ahead(self, blocks: Iterable[int]) -> Callable[[int], None]:
        """Return a function to call with each decoded block, which reads the following blocks ahead."""
        if self._advice is None or self.store.block_bytes is None:
            return lambda _: None
        return self._advice.ahead(self._recent.missing(blocks))

    def _fields(self, packed: NDArray[np.uint8]) -> dict[int, NDArray[Any]]:
        """Return the narrow columns by their place, from rows packed as `DecodedBlock.packed` does."""
        records = packed.view(self._layout).reshape(-1)
        return {place: records[f"f{place}"] for place in self._narrow}

    @cached_property
    def _advice(self) -> BlockAdvice | None:
        extents = getattr(self.store, "extents", None)
        return None if extents is None else BlockAdvice(extents, always=are_remote(self.paths))

    @cached_property
    def _sizes(self) -> list[int]:
        """The number of rows of each block."""
        return np.diff(self.store.bounds).tolist()

    @cached_property
    def _used(self) -> dict[int, int]:
        return {}

    @cached_property
    def _recent(self) -> Recent[DecodedBlock | Loose]:
        return Recent(self._decoded, self.cache_bytes)

    def _decoded(self, number: int) -> DecodedBlock | Loose:
        if self._advice is None or self.store.block_bytes is None:
            made = self.store.decode(number)
        else:
            self._advice.decoding(number)
            try:
                made = self.store.decode(number)
            finally:
                self._advice.decoded(number)
        return DecodedBlock(made) if isinstance(made, list) else made

    @cached_property
    def _flat(self) -> tuple[list[LeafSpec], Structure]:
        return flatten(self.store.spec)

    @property
    def _specs(self) -> list[LeafSpec]:
        return self._flat[0]

    @property
    def _structure(self) -> Structure:
        return self._flat[1]

    @cached_property
    def _narrow(self) -> tuple[int, ...]:
        """The narrow columns that are gathered together, if there are several."""
        places = [place for place, spec in enumerate(self._specs) if _width(spec) <= _NARROW]
        return tuple(places) if len(places) > 1 and self.store.block_bytes is not None else ()

    @cached_property
    def _layout(self) -> np.dtype[Any]:
        """The dtype of one packed row of the narrow columns."""
        specs = [(f"f{place}", self._specs[place]) for place in self._narrow]
        fields = [(name, spec.dtype, spec.shape) for name, spec in specs if isinstance(spec, ArraySpec)]
        return np.dtype(fields, align=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockedSource, (self.store, self.cache_bytes)


def _whole(block: DecodedBlock | Loose, rows: Rows) -> tuple[DecodedBlock, Rows]:
    """Return the block and its rows; for a loose block, a new block of these rows alone."""
    if isinstance(block, DecodedBlock):
        return block, rows
    return DecodedBlock(block.columns(rows)), np.arange(len(rows))


def _width(spec: LeafSpec) -> float:
    if not isinstance(spec, ArraySpec) or not spec.known or spec.dtype.hasobject:
        return float("inf")
    return spec.dtype.itemsize * prod(size or 0 for size in spec.shape) or float("inf")


def _no_rows(spec: LeafSpec) -> Column:
    if isinstance(spec, ArraySpec) and spec.known:
        return np.empty((0, *(size or 0 for size in spec.shape)), spec.dtype)
    if isinstance(spec, RaggedSpec | ArraySpec):
        levels = 1 + (spec.ragged_rank if isinstance(spec, RaggedSpec) else 0)
        values: Any = np.empty((0, *(size or 0 for size in spec.shape[levels:])), spec.dtype)
        for _ in range(levels):
            values = Ragged(values, [0])
        return values
    return []
