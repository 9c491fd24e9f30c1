"""Samples of several columns, each sample stored as one run of bytes: MDS and LitData."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items
from penstock.elements.nested.structure import LEAF, Structure, flatten, unflatten
from penstock.elements.spec import Spec
from penstock.index.blocked import Blocks
from penstock.sources.shards.encodings import Encoding
from penstock.sources.shards.files import Payloads


@frozen()
class StoredColumn:
    """A column of samples: its name in errors, its encoding, and its size in bytes if fixed."""

    name: str
    encoding: Encoding
    size: int | None = None


@frozen(eq=False)
class Layout:
    """The layout of a sample and of its element: `element` has a column's number for each leaf.

    A sample begins with the sizes, `uint32`, of the columns without a fixed size; all columns follow.
    """

    columns: tuple[StoredColumn, ...]
    element: Any

    @cached_property
    def _flat(self) -> tuple[list[int], Structure]:
        return flatten(self.element)

    def spec(self) -> Spec:
        """Return the spec of one element, or `None` if unknown before reading."""
        wanted, structure = self._flat
        specs = [self.columns[number].encoding.spec for number in wanted]
        return None if any(spec is None for spec in specs) else unflatten(structure, specs)

    def chunk(self, samples: list[bytes], where: Callable[[int], str]) -> Chunk:
        """Decode samples; raise a `DataError` with the place (`where`) of a bad sample, and its index as `element`."""
        wanted, structure = self._flat
        ends = self._ends(samples, where)
        columns = [self._column(number, samples, ends, where) for number in wanted]
        if not any(self.columns[number].encoding.nested for number in wanted):
            return Columns(structure, columns, len(samples))
        values = [Columns(LEAF, [column], len(samples)).elements() for column in columns]
        return Items([unflatten(structure, leaves) for leaves in zip(*values, strict=True)])

    def _ends(self, samples: list[bytes], where: Callable[[int], str]) -> NDArray[np.int64]:
        """Return the begins of the columns of each sample, and the end of the last: shape (k, columns + 1)."""
        told = [number for number, column in enumerate(self.columns) if column.size is None]
        lead = 4 * len(told)
        lengths = np.fromiter(map(len, samples), np.int64, len(samples))
        if len(short := np.flatnonzero(lengths < lead)):
            raise _damaged(
                int(short[0]),
                where,
                f"it has {int(lengths[short[0]])} bytes, fewer than the {lead} of its column sizes",
            )
        sizes = np.empty((len(samples), len(self.columns) + 1), np.int64)
        sizes[:, 0] = lead
        sizes[:, 1:] = [column.size or 0 for column in self.columns]
        heads = np.frombuffer(b"".join([sample[:lead] for sample in samples]), "<u4")
        sizes[:, [number + 1 for number in told]] = heads.reshape(len(samples), len(told))
        for number, column in enumerate(self.columns):
            size = column.encoding.size
            if size is not None and len(other := np.flatnonzero(sizes[:, number + 1] != size)):
                found = int(sizes[other[0], number + 1])
                raise _damaged(int(other[0]), where, f"column {column.name!r} takes {size} bytes, and has {found}")
        ends = np.cumsum(sizes, axis=1)
        if len(wrong := np.flatnonzero(ends[:, -1] != lengths)):
            at = int(wrong[0])
            raise _damaged(
                at, where, f"its columns take {int(ends[at, -1])} bytes, and the sample has {int(lengths[at])}"
            )
        return ends

    def _column(
        self, number: int, samples: list[bytes], ends: NDArray[np.int64], where: Callable[[int], str]
    ) -> Column:
        spans = zip(samples, ends[:, number].tolist(), ends[:, number + 1].tolist(), strict=True)
        encoding = self.columns[number].encoding
        try:
            return encoding.column([sample[begin:end] for sample, begin, end in spans])
        except DataError as error:
            why = f"column {self.columns[number].name!r} is not {encoding.name}: {error}"
            raise _damaged(error.element or 0, where, why) from error.__cause__

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the layout."""
        return (str(self.element), *((column.name, column.encoding.name, column.size) for column in self.columns))


def _damaged(element: int, where: Callable[[int], str], why: str) -> DataError:
    error = DataError(f"{where(element)}: {why}")
    error.element = element
    return error


@frozen(eq=False)
class SampleFiles:
    """The samples of some shards, as elements of a layout."""

    payloads: Payloads
    layout: Layout
    name: str
    format: str = field(default="samples")

    @property
    def length(self) -> int:
        return self.payloads.length

    @property
    def faults(self) -> Mapping[int, Exception]:
        """Faults of shards: each is the error of all samples of a shard."""
        return self.payloads.faults

    @cached_property
    def blocks(self) -> Blocks | None:
        """The shards or their parts, if each is decompressed as a whole."""
        return self.payloads.blocks()

    def spec(self) -> Spec:
        return self.layout.spec()

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        rows = np.ascontiguousarray(rows, np.int64)
        return self.layout.chunk(self.payloads.read(rows), lambda i: self.describe(int(rows[i])))

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the samples at `rows`."""
        self.payloads.advise(np.ascontiguousarray(rows, np.int64))

    def describe(self, row: int) -> str:
        return self.payloads.describe(row)

    @property
    def paths(self) -> Sequence[str]:
        """The files of the shards."""
        return [shard.path for shard in self.payloads.shards]

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the layout and number of samples, and a digest of the sizes and content of the files."""
        return (self.format, self.length, *self.layout.fingerprint(), self.payloads.content())
