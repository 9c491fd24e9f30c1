"""Read datasets written by `ds.save(path)`, memory-mapped."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ArraySpec, Spec
from penstock.kernels import MappedFile
from penstock.sources.arrays import ArraySource
from penstock.sources.numpy.headers import array_header
from penstock.sources.saved.manifest import NAME, Manifest, SavedLeaf, read_manifest
from penstock.sources.saved.sums import CheckedBlocks, Sums, read_sums


@frozen(eq=False)
class SavedElements:
    """The elements of a saved dataset, as far as its folder and manifest describe them."""

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

    def describe(self, row: int) -> str:
        return f"element {row} of {self.folder}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the digest of the content when written."""
        return ("saved", self.manifest.digest)

    def verify(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which elements are as they were written, as far as checksums tell, `bool[k]`.

        Damage that concerns all elements raises the `DataError`.
        """
        sound = np.ones(len(rows), np.bool_)
        for leaf in self._leaves:
            sound &= sound_rows(rows, lambda some, leaf=leaf: leaf.read(some, None))
        return sound

    @cached_property
    def _leaves(self) -> Sequence[Reading]:
        raise NotImplementedError


@frozen(eq=False)
class SavedSource(SavedElements):
    """The elements of a local saved dataset; arrays are read-only views of the files, mapped when first read."""

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        memory = out if out is not None and len(out) == len(self._leaves) else [None] * len(self._leaves)
        try:
            columns = [leaf.read(rows, into) for leaf, into in zip(self._leaves, memory, strict=True)]
        finally:
            for mapped in self._files:
                mapped.check_unchanged()
        return Columns(self.manifest.structure, columns, len(rows))

    @property
    def paths(self) -> Sequence[str]:
        """The description of the dataset, which has the digest of the other files."""
        return [os.path.join(self.folder, NAME)]

    @cached_property
    def _leaves(self) -> Sequence[Reading]:
        sums = read_sums(self.folder, self.manifest)
        return [_reading(self.folder, leaf, self.length, self._files, sums) for leaf in self.manifest.leaves]

    @cached_property
    def _files(self) -> list[MappedFile]:
        """The mapped files."""
        return []

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedSource, (self.folder, self.manifest)  # the receiver maps the files again


def saved(path: str | os.PathLike[str]) -> SavedSource:
    """Return the source of `Dataset.load`."""
    folder = os.path.abspath(os.fspath(path))
    return SavedSource(folder, read_manifest(folder))


def sound_rows(rows: Rows, read: Callable[[Rows], object]) -> NDArray[np.bool_]:
    """Return which rows are read without a `DataError`, `bool[k]`; raise an error that concerns all of them."""
    sound = np.ones(len(rows), np.bool_)
    at = 0
    while at < len(rows):
        try:
            read(rows[at:])
            break
        except DataError as error:
            if error.element is None:
                raise
            at += error.element
            sound[at] = False
            at += 1
    return sound


@frozen(eq=False)
class Checked:
    """The array of a file, and the position of its values there."""

    array: NDArray[Any]
    blocks: CheckedBlocks
    begin: int

    def read(self, lows: Rows, highs: Rows) -> None:
        """Verify the checksums of rows `lows[i]` to `highs[i]` before they are read."""
        width = self.array.strides[0] if self.array.size else 0
        self.blocks.check(self.begin + lows * width, self.begin + highs * width)


class Reading(Protocol):
    """The values of one leaf."""

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column: ...


@frozen(eq=False)
class ArrayRows:
    """Arrays of one shape, as the rows of one array."""

    source: ArraySource
    checked: Checked

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        self.checked.read(rows, rows + 1)
        column = self.source.read_many(rows, None if into is None else [into]).columns[0]
        if isinstance(column, np.ndarray) and column.size:
            column[-1:].flat[-1]  # a view is not read yet
        return column


@frozen(eq=False)
class UnevenRows:
    """Arrays of different shapes: all values end to end, with the begin and shape of each."""

    path: str
    files: tuple[Checked, Checked, Checked]

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        for file, more in zip(self.files[1:], (2, 1), strict=True):
            file.read(rows, rows + more)
        values, offsets, of_shapes = (file.array for file in self.files)
        lows, highs, shapes = offsets[rows], offsets[rows + 1], of_shapes[rows]
        fitting = have_size(shapes, lows, highs) & lie_within(lows, highs, len(values))
        check_elements(rows, fitting, self.path)
        self.files[0].read(lows, highs)
        ends = highs.tolist()
        spans = zip(lows.tolist(), ends, shapes.tolist(), strict=True)
        parts = [values[low:high].reshape(shape) for low, high, shape in spans]
        last = max(ends, default=0)
        values[max(last - 1, 0) : last].tobytes()  # views are not read yet: if the last value is in the file, all are
        return parts


@frozen(eq=False)
class TextRows:
    """Texts or bytes: all end to end, with the begin of each."""

    path: str
    files: tuple[Checked, Checked]
    decode: bool

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        self.files[1].read(rows, rows + 2)
        values, offsets = (file.array for file in self.files)
        lows, highs = offsets[rows], offsets[rows + 1]
        check_elements(rows, lie_within(lows, highs, len(values)), self.path)
        self.files[0].read(lows, highs)
        spans = zip(lows.tolist(), highs.tolist(), strict=True)
        contents = [values[low:high].tobytes() for low, high in spans]
        return decoded_texts(contents, rows, self.path) if self.decode else contents


def _reading(folder: str, leaf: SavedLeaf, length: int, files: list[MappedFile], sums: dict[str, Sums]) -> Reading:
    found = [_mapped(os.path.join(folder, name), files, sums.get(name)) for name in leaf.files]
    arrays = [file.array for file in found]
    for name, array, (dtype, shape) in zip(leaf.files, arrays, file_forms(leaf, length), strict=True):
        if array.dtype != dtype or not shape_fits(array.shape, shape):
            raise DataError(
                f"load({folder!r}): {name} holds {array.dtype}{list(array.shape)}, not the array of {length:,} "
                "elements; save the dataset again"
            )
    base = os.path.join(folder, leaf.file)
    if leaf.kind == "array":
        return ArrayRows(ArraySource(LEAF, [arrays[0]]), found[0])
    if leaf.kind == "uneven":
        return UnevenRows(base, (found[0], found[1], found[2]))
    return TextRows(base, (found[0], found[1]), decode=leaf.kind == "str")


def file_forms(leaf: SavedLeaf, length: int) -> list[tuple[Any, tuple[int | None, ...]]]:
    """Return the dtype and the shape of each file of a leaf."""
    spec = leaf.spec()
    if not isinstance(spec, ArraySpec):
        return [(np.uint8, (None,)), (np.int64, (length + 1,))]
    if leaf.kind == "array":
        return [(spec.dtype, (length, *spec.shape))]
    return [(spec.dtype, (None,)), (np.int64, (length + 1,)), (np.int64, (length, len(spec.shape)))]


def shape_fits(found: tuple[int, ...], shape: tuple[int | None, ...]) -> bool:
    """Return whether a shape is the one that is known in part.

    >>> shape_fits((3, 2), (None, 2)), shape_fits((3, 2), (3,))
    (True, False)
    """
    return len(found) == len(shape) and all(size in (None, has) for size, has in zip(shape, found, strict=True))


def lie_within(lows: Rows, highs: Rows, count: int) -> NDArray[np.bool_]:
    """Return which parts lie within `count` values, `bool[k]`."""
    return (lows >= 0) & (lows <= highs) & (highs <= count)


def have_size(shapes: NDArray[np.int64], lows: Rows, highs: Rows) -> NDArray[np.bool_]:
    """Return which shapes, `int64[k, rank]`, have as many values as lie between `lows` and `highs`, `bool[k]`."""
    sizes = shapes.prod(axis=1, dtype=np.float64)  # larger values are not valid sizes
    return (sizes == highs - lows) & (shapes >= 0).all(axis=1)


def check_elements(rows: Rows, fits: NDArray[np.bool_], base: str) -> None:
    """Raise a `DataError` for the first of `rows` that does not fit the files of its leaf."""
    if not fits.all():
        at = int(np.argmin(fits))
        raise _damaged(rows, at, f"{base}.offsets.npy", "lies outside the values, or has another shape")


def decoded_texts(contents: list[bytes], rows: Rows, base: str) -> list[str]:
    """Return contents as text; raise a `DataError` for the first one that is none."""
    texts: list[str] = []
    try:
        texts.extend(content.decode("utf-8", "surrogatepass") for content in contents)
    except UnicodeDecodeError as failure:
        raise _damaged(rows, len(texts), f"{base}.values.npy", f"is not text: {failure.reason}") from failure
    return texts


def _damaged(rows: Rows, at: int, path: str, why: str) -> DataError:
    error = DataError(f"{path} is damaged: element {int(rows[at])} {why}; save the dataset again")
    error.element = at
    return error


def _mapped(path: str, files: list[MappedFile], sums: Sums | None) -> Checked:
    """Return the array of a `.npy` file, mapped into memory read-only; add the mapping to `files`."""
    with open(path, "rb") as file:
        shape, by_columns, dtype, begin = array_header(file, path, os.path.getsize(path))
    order = "F" if by_columns else "C"
    if not math.prod(shape) * dtype.itemsize:  # there is nothing to map
        array = np.empty(shape, dtype, order)
        array.flags.writeable = False
        return Checked(array, CheckedBlocks(path, np.empty(0, np.uint8), None), begin)
    mapped = MappedFile(path)
    files.append(mapped)
    try:
        array = np.ndarray(shape, dtype, mapped.content.data, begin, order=order)
    except TypeError:
        raise DataError(f"{path}: the file was cut short; save the dataset again") from None
    checked = Checked(array, CheckedBlocks(path, mapped.content, sums), begin)
    seen = len(mapped.content) if by_columns else begin  # rows in Fortran order are scattered
    checked.blocks.check(np.zeros(1, np.int64), np.full(1, seen))
    return checked
