"""Read what `ds.save(path)` has written, memory-mapped."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.elements.chunk import Column, Columns
from penstock.elements.spec import Spec
from penstock.elements.structure import LEAF
from penstock.kernels import MappedFile, maps_cut
from penstock.sources.arrays import ArraySource
from penstock.sources.manifest import Leaf, Manifest, read_manifest


@dataclass(frozen=True, eq=False)
class SavedSource:
    """The elements of a saved dataset; arrays are read-only views of the files, which are mapped when first read."""

    folder: str
    manifest: Manifest

    @property
    def name(self) -> str:
        return f"load({self.folder!r})"

    @property
    def length(self) -> int:
        return self.manifest.length

    def spec(self) -> Spec | None:
        return self.manifest.spec()

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        memory = out if out is not None and len(out) == len(self._leaves) else [None] * len(self._leaves)
        try:
            columns = [leaf.read(rows, into) for leaf, into in zip(self._leaves, memory, strict=True)]
        finally:
            if maps_cut():
                for mapped in self._files:
                    mapped.check()
        return Columns(self.manifest.structure, columns, len(rows))

    def describe(self, row: int) -> str:
        return f"element {row} of {self.folder}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the digest of the content, as it was when it was written."""
        return ("saved", self.manifest.digest)

    @cached_property
    def _leaves(self) -> list[Reading]:
        return [_reading(self.folder, leaf, self.length, self._files) for leaf in self.manifest.leaves]

    @cached_property
    def _files(self) -> list[MappedFile]:
        """Those that are mapped."""
        return []

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedSource, (self.folder, self.manifest)  # whoever unpickles it maps the files


def saved(path: str | os.PathLike[str]) -> SavedSource:
    """Return the source of `Dataset.load`."""
    folder = os.path.abspath(os.fspath(path))
    return SavedSource(folder, read_manifest(folder))


class Reading(Protocol):
    """The values of one leaf."""

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column: ...


@dataclass(frozen=True, eq=False)
class Arrays:
    """Arrays of one shape: the rows of one."""

    source: ArraySource

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        column = self.source.read_many(rows, None if into is None else [into]).columns[0]
        if isinstance(column, np.ndarray) and column.size:
            column[-1:].flat[-1]  # a view is not read yet
        return column


@dataclass(frozen=True, eq=False)
class Uneven:
    """Arrays of different shapes: all values end to end, where each begins, and its shape."""

    values: NDArray[Any]
    offsets: NDArray[np.int64]
    shapes: NDArray[np.int64]

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        ends = self.offsets[rows + 1].tolist()
        spans = zip(self.offsets[rows].tolist(), ends, self.shapes[rows].tolist(), strict=True)
        parts = [self.values[low:high].reshape(shape) for low, high, shape in spans]
        last = max(ends, default=0)
        self.values[max(last - 1, 0) : last].tobytes()  # views are not read yet: where their end is there, all is
        return parts


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts or bytes: all end to end, and where each begins."""

    values: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    decode: bool

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        spans = zip(self.offsets[rows].tolist(), self.offsets[rows + 1].tolist(), strict=True)
        contents = [self.values[low:high].tobytes() for low, high in spans]
        return [content.decode("utf-8", "surrogatepass") for content in contents] if self.decode else contents


def _reading(folder: str, leaf: Leaf, length: int, files: list[MappedFile]) -> Reading:
    arrays = [_mapped(os.path.join(folder, name), files) for name in leaf.files]
    has = length if leaf.kind == "array" else length + 1
    if len(arrays[0 if leaf.kind == "array" else 1]) != has:
        raise DataError(f"load({folder!r}): {leaf.files[0]} does not have {length:,} elements; save the dataset again")
    if leaf.kind == "array":
        return Arrays(ArraySource(LEAF, [arrays[0]]))
    if leaf.kind == "uneven":
        return Uneven(*arrays)
    return Texts(arrays[0], arrays[1], decode=leaf.kind == "str")


def _mapped(path: str, files: list[MappedFile]) -> NDArray[Any]:
    """The array in a `.npy` file, mapped into memory by one more of `files`; not to be written to."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except ValueError as error:
        if os.path.getsize(path) and "mmap an empty file" not in str(error):
            raise DataError(f"{path}: {error}; save the dataset again") from None
        array: NDArray[Any] = np.load(path, allow_pickle=False)  # nothing is in it to map
        array.flags.writeable = False
        return array
    mapped = MappedFile(path)
    files.append(mapped)
    order = "C" if found.flags.c_contiguous else "F"
    try:
        return np.ndarray(found.shape, found.dtype, mapped.content.data, found.offset, order=order)
    except TypeError:
        raise DataError(f"{path}: the file was cut short; save the dataset again") from None
