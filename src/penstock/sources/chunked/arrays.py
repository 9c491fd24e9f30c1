"""Chunked arrays, read along their first axis: the common part of HDF5 and Zarr."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.checks import check_names
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.nested.structure import LEAF, Structure, flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec, Spec
from penstock.sources.arrow.tables import relative, shown
from penstock.sources.blocked import BlockedSource, DecodedColumn
from penstock.sources.unreadable import OfFiles, WithUnreadable, with_unreadable
from penstock.storage.local import Extent, is_file
from penstock.storage.state import FileState, OpenedAgain

_BLOCK_BYTES = 1 << 20
_OBJECT_BYTES = 64  # of a value of unknown length, about


class DescribedArray(NamedTuple):
    """One array of a file: its length, the spec of a row, and the number of rows read together."""

    length: int
    spec: LeafSpec
    chunk: int


class OpenFile(Protocol):
    """A file open for reading, in this process."""

    def described(self) -> Mapping[str, DescribedArray]:
        """Return the arrays in the file, by path."""
        ...

    def read(self, name: str, low: int, high: int) -> NDArray[Any]:
        """Return rows of one array."""
        ...

    def extents(self, name: str, low: int, high: int) -> Iterable[Extent]:
        """Return the extents of these rows, as far as known."""
        ...


class Library(Protocol):
    """A function that opens files: at the top of a module, so that pickling stores its name."""

    def __call__(self, path: str, /) -> OpenFile: ...


@frozen()
class ObjectTexts:
    """Text or bytes of a block."""

    values: list[Any]

    @property
    def nbytes(self) -> int:
        return _OBJECT_BYTES * len(self.values)

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> list[Any]:
        values = self.values
        return [values[row] for row in rows.tolist()]


@frozen(eq=False)
class ChunkedFiles(OpenedAgain):
    """The rows of arrays in files, joined along their first axis; blocks are some of their chunks."""

    name: str
    library: Library
    paths: list[str]
    states: list[FileState | None]
    """`None` for a folder: a store with one file for each chunk."""
    names: list[str]
    spec: Spec
    starts: NDArray[np.int64]
    """The first row of each file, and the end."""
    bounds: NDArray[np.int64]

    @property
    def file_starts(self) -> NDArray[np.int64]:
        """The first row of each file."""
        return self.starts[:-1]

    @property
    def block_bytes(self) -> int:
        return _row_bytes(flatten(self.spec)[0]) * int(self.bounds[-1]) // max(len(self.bounds) - 1, 1)

    def decode(self, block: int) -> list[DecodedColumn]:
        low, high = self.bounds[block : block + 2].tolist()
        file = int(self.starts.searchsorted(low, "right")) - 1
        first = int(self.starts[file])
        source = self._opened(file)
        specs = flatten(self.spec)[0]
        held = [
            _held(source.read(name, low - first, high - first), spec, high - low, f"{self.paths[file]}, {name}")
            for name, spec in zip(self.names, specs, strict=True)
        ]
        self._check(file)
        return held

    def extents(self, block: int) -> list[Extent]:
        """Return the extents of the chunks of a block."""
        low, high = self.bounds[block : block + 2].tolist()
        file = int(self.starts.searchsorted(low, "right")) - 1
        low, high = low - int(self.starts[file]), high - int(self.starts[file])
        source = self._opened(file)
        return [extent for name in self.names for extent in source.extents(name, low, high)]

    def check(self, blocks: Iterable[int]) -> None:
        """Raise a `DataError` if a file of these blocks has changed, even for cached rows."""
        for file in {int(self.starts.searchsorted(self.bounds[block], "right")) - 1 for block in blocks}:
            self._check(file)

    def _check(self, file: int) -> None:
        if (state := self.states[file]) is not None:
            state.check_open(self.paths[file])

    def describe(self, block: int, row: int) -> str:
        at = int(self.bounds[block]) + row
        file = int(self.starts.searchsorted(at, "right")) - 1
        return f"{self.paths[file]}, row {at - int(self.starts[file]):,}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the files' names and sizes, and the type of each array."""
        specs = [repr(spec) for spec in flatten(self.spec)[0]]
        sizes = [-1 if state is None else state.size for state in self.states]
        return ("chunked", relative(self.paths), sizes, self.names, specs, self.bounds.tolist())

    def _opened(self, file: int) -> OpenFile:
        key = (os.getpid(), file)  # files opened before a fork belong to the parent
        found = self._open_files.get(key)
        if found is None:
            found = self._open_files.setdefault(key, self.library(self.paths[file]))
            if (state := self.states[file]) is not None:
                state.check(self.paths[file])
        return found

    @cached_property
    def _open_files(self) -> dict[tuple[int, int], OpenFile]:
        return {}


def corners(shape: Sequence[int], chunks: Sequence[int], low: int, high: int) -> Iterator[tuple[int, ...]]:
    """Yield the chunks of an array with rows from `low` to `high`, by their place along each dimension.

    >>> list(corners((10, 6), (4, 3), 3, 5))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    along = [range(-(-size // chunk)) for size, chunk in zip(shape[1:], chunks[1:], strict=True)]
    return product(range(low // chunks[0], -(-high // chunks[0])), *along)


def chunked_files(
    call: str, library: Library, paths: list[str], columns: str | Sequence[str] | None, cache_bytes: int
) -> OfFiles | WithUnreadable:
    """Return the source of `ps.read_hdf5` and `ps.read_zarr`; an unreadable file is one failing row."""

    def make(some: list[str], _: Collection[str]) -> BlockedSource:
        return _chunked_files(call, library, some, columns, cache_bytes)

    return with_unreadable(paths, make, lambda path: library(path).described())


def _chunked_files(
    call: str, library: Library, paths: list[str], columns: str | Sequence[str] | None, cache_bytes: int
) -> BlockedSource:
    states = [FileState.of(path) if is_file(path) else None for path in paths]
    found = [library(path).described() for path in paths]
    names, structure = _chosen(call, paths[0], found[0], columns)
    lengths: list[int] = []
    for path, arrays in zip(paths, found, strict=True):
        missing = [name for name in names if name not in arrays]
        if missing:
            raise DataError(f"{call}: {path} has no array {missing[0]!r}; {paths[0]} has")
        lengths.append(_length(path, {name: arrays[name].length for name in names}))
        for name in names:
            if arrays[name].spec != found[0][name].spec:
                raise DataError(
                    f"{call}: {paths[0]} and {path} differ: rows of {name!r} are {found[0][name].spec!r} in the first "
                    f"and {arrays[name].spec!r} in the second"
                )
    starts = np.cumsum([0, *lengths])
    row_bytes = _row_bytes([found[0][name].spec for name in names])
    bounds: set[int] = {0, int(starts[-1])}
    for start, length, arrays in zip(starts.tolist(), lengths, found, strict=False):
        chunk = max(min(max(arrays[name].chunk for name in names), max(length, 1)), 1)
        rows = chunk * -(-_BLOCK_BYTES // max(chunk * row_bytes, 1))  # whole chunks, of a megabyte or more
        bounds.update(range(start, start + length, rows))
    specs = [found[0][name].spec for name in names]
    label = f"{call}({shown(paths)})"
    spec = unflatten(structure, specs)
    cuts = np.array(sorted(bounds), np.int64)
    return BlockedSource(ChunkedFiles(label, library, paths, states, names, spec, starts, cuts), cache_bytes)


def _chosen(
    call: str, path: str, arrays: Mapping[str, DescribedArray], columns: str | Sequence[str] | None
) -> tuple[list[str], Structure]:
    """Return the names of the arrays, in the order of an element's leaves, and its structure: groups are dicts.

    An array without a name is the whole store, and its rows are the elements.
    """
    if columns is None and list(arrays) == [""]:
        columns = ""
    for name in (
        [columns] if isinstance(columns, str) else () if columns is None else check_names(call, "columns", columns)
    ):
        if name not in arrays:
            raise PlanError(f"{call}: {path} has no array {name!r} with rows; it has {', '.join(map(repr, arrays))}")
    if isinstance(columns, str):
        return [columns], LEAF
    names = list(arrays) if columns is None else list(dict.fromkeys(columns))
    if not names:
        raise DataError(f"{call}: {path} has no array with rows")
    nested: dict[str, Any] = {}
    for name in names:
        *groups, last = name.split("/")
        at = nested
        for group in groups:
            at = at.setdefault(group, {})
        at[last] = name
    return flatten(nested)


def _length(path: str, lengths: Mapping[str, int]) -> int:
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name}: {length:,}" for name, length in lengths.items())
        raise DataError(f"{path}: its arrays have different lengths ({told}); choose some with columns=")
    return next(iter(lengths.values()))


def _row_bytes(specs: Iterable[LeafSpec]) -> int:
    return sum(
        spec.dtype.itemsize * prod(size or 0 for size in spec.shape)
        if isinstance(spec, ArraySpec) and spec.known
        else _OBJECT_BYTES
        for spec in specs
    )


def _held(values: NDArray[Any], spec: LeafSpec, rows: int, place: str) -> DecodedColumn:
    if len(values) != rows:
        raise DataError(f"{place}: {len(values):,} of {rows:,} rows found; make the dataset again")
    if isinstance(spec, ObjectSpec):
        return ObjectTexts(values.tolist())
    if isinstance(spec, ArraySpec) and not spec.known:
        return Ragged.from_rows([np.asarray(row, spec.dtype) for row in values], spec.dtype)
    return values.astype(spec.dtype, copy=False) if isinstance(spec, ArraySpec) else values
