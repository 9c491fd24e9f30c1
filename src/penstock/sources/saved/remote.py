"""Read datasets of `ds.save(url)` in remote stores: rows by ranges, their places once as a whole."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.sources.numpy.headers import array_header
from penstock.sources.saved.manifest import NAME, Manifest, SavedLeaf, check_saved_size, parsed_manifest
from penstock.sources.saved.reading import (
    SavedElements,
    check_elements,
    decoded_texts,
    file_forms,
    have_size,
    lie_within,
    shape_fits,
)
from penstock.sources.saved.sums import CheckedBlocks, Sums, parsed_sums
from penstock.storage.local import Extent, file_size, read_extent
from penstock.storage.remote.fetcher import fetcher
from penstock.storage.remote.file import RemoteFile, shown_url
from penstock.storage.remote.listing import find_objects
from penstock.storage.remote.opened import open_parts
from penstock.storage.remote.stores import scheme_of, split_url

_MOST_LOOKS = 4  # at a manifest that others replace meanwhile


@frozen(eq=False)
class SavedObjects(SavedElements):
    """The elements of a saved dataset in a remote store, whose objects are in the order of the manifest's files.

    The offsets and shapes of texts and uneven arrays are read once, as a whole. Values are read in ranges of the rows
    that are asked for, as far as the blocks reach that have a checksum. All are compared with their checksums.
    """

    objects: Mapping[str, RemoteFile]
    """The objects by the names of their files, that of the checksums among them."""

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        rows = np.ascontiguousarray(rows, np.int64)
        memory = out if out is not None and len(out) == len(self._leaves) else [None] * len(self._leaves)
        columns = [leaf.read(rows, into) for leaf, into in zip(self._leaves, memory, strict=True)]
        return Columns(self.manifest.structure, columns, len(rows))

    def advise(self, rows: Rows) -> None:
        """Begin to fetch the values of some rows."""
        rows = np.ascontiguousarray(rows, np.int64)
        for leaf in self._leaves:
            fetcher().announce(leaf.extents(rows))

    @property
    def paths(self) -> Sequence[str]:
        """The objects that have the values."""
        return [self.objects[leaf.files[0]] for leaf in self.manifest.leaves]

    @cached_property
    def _sums(self) -> dict[str, Sums]:
        """The checksums of the blocks of each file."""
        if self.manifest.crc32c is None:
            return {}
        file = self.objects[self.manifest.sums]
        return parsed_sums(file, read_extent(file, 0, file.size), self.manifest)

    @cached_property
    def _leaves(self) -> Sequence[ObjectRows]:
        return [self._opened(leaf) for leaf in self.manifest.leaves]

    def _opened(self, leaf: SavedLeaf) -> ObjectRows:
        """Return the values of a leaf; raise a `DataError` if a file holds another array."""
        found = [
            self._header(name, *form) for name, form in zip(leaf.files, file_forms(leaf, self.length), strict=True)
        ]
        places = [_whole(each, self._sums.get(name)) for name, each in zip(leaf.files[1:], found[1:], strict=True)]
        values, sums, base = found[0], self._sums.get(leaf.files[0]), f"{self.folder}/{leaf.file}"
        if leaf.kind == "array":
            return ArrayRowsOfObject(values, sums)
        if leaf.kind == "uneven":
            return UnevenRowsOfObject(values, sums, base, *places)
        return TextRowsOfObject(values, sums, base, places[0], leaf.kind == "str")

    def _header(self, name: str, dtype: Any, shape: tuple[int | None, ...]) -> StoredArray:
        """Return the array of a file, by its header."""
        file = self.objects[name]
        with open_parts(file) as opened:
            found, by_columns, has, begin = array_header(opened, file, file.size)
        if has != dtype or by_columns or not shape_fits(found, shape):
            raise DataError(
                f"load({self.folder!r}): {name} holds {has}{list(found)}, not the array of {self.length:,} elements; "
                "save the dataset again"
            )
        return StoredArray(file, begin, has, found)

    def __reduce__(self) -> tuple[Any, ...]:
        return SavedObjects, (self.folder, self.manifest, self.objects)  # the receiver reads the places again


class StoredArray(NamedTuple):
    """An array in a remote object, whose values begin after a header."""

    file: RemoteFile
    begin: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def _whole(array: StoredArray, sums: Sums | None) -> NDArray[Any]:
    """Return an array whose object is read as a whole and verified."""
    content = np.frombuffer(read_extent(array.file, 0, array.file.size), np.uint8)
    CheckedBlocks(array.file, content, sums).check(np.zeros(1, np.int64), np.full(1, len(content)))
    end = array.begin + array.dtype.itemsize * math.prod(array.shape)
    return content[array.begin : end].view(array.dtype).reshape(array.shape)


@frozen(eq=False)
class ObjectRows:
    """The values of one leaf in an object, with the checksums of its blocks."""

    array: StoredArray
    sums: Sums | None

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        """Return the values at `rows`, perhaps in the given memory."""
        raise NotImplementedError

    def counts(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the numbers of values before each row and up to its end."""
        width = math.prod(self.array.shape[1:])
        return width * rows, width * (rows + 1)

    def places(self, rows: Rows) -> tuple[Rows, Rows]:
        """Return the begin and end of the values of each row in the object."""
        begins, ends = self.counts(rows)
        base, size = self.array.begin, self.array.dtype.itemsize
        return base + size * begins, base + size * ends

    def extents(self, rows: Rows) -> list[Extent]:
        """Return the bytes to fetch for each row: the whole blocks that have some of its values."""
        begins, ends = self.places(rows)
        size = self.array.file.size
        lie_there = (begins >= 0) & (begins < ends) & (ends <= size)
        if self.sums is not None:
            first, last = self.sums.span(begins, ends)
            begins, ends = first * self.sums.block, np.minimum((last + 1) * self.sums.block, size)
        ends = np.where(lie_there, ends, begins)
        return [(self.array.file, begin, end) for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]

    def contents(self, rows: Rows) -> list[memoryview]:
        """Return the bytes of the values of each row; raise a `DataError` for one that is damaged."""
        extents = self.extents(rows)
        fetched = fetcher().read(extents)
        self._check(extents, fetched)
        bounds = zip(extents, fetched, *(places.tolist() for places in self.places(rows)), strict=True)
        return [content[begin - first : end - first] for (_, first, _), content, begin, end in bounds]

    def _check(self, extents: list[Extent], fetched: list[memoryview]) -> None:
        """Compare each block that was fetched with its checksum, once."""
        if (sums := self.sums) is None:
            return
        seen: set[int] = set()
        for i, ((path, begin, _), content) in enumerate(zip(extents, fetched, strict=True)):
            for at in range(0, len(content), sums.block):
                block = (begin + at) // sums.block
                if block not in seen and not sums.matches(block, content[at : at + sums.block]):
                    raise sums.damage(path, block, i)
                seen.add(block)


@frozen(eq=False)
class ArrayRowsOfObject(ObjectRows):
    """Arrays of one shape, as the rows of one array."""

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        shape, dtype = (len(rows), *self.array.shape[1:]), self.array.dtype
        fits = into is not None and (into.shape, into.dtype) == (shape, dtype) and into.flags.c_contiguous
        values = into if fits and into is not None else np.empty(shape, dtype)
        if values.size:
            to = values.reshape(len(rows), -1).view(np.uint8)
            for i, content in enumerate(self.contents(rows)):
                to[i] = content
        return values


@frozen(eq=False)
class UnevenRowsOfObject(ObjectRows):
    """Arrays of different shapes, with the begin and shape of each."""

    path: str
    offsets: NDArray[np.int64]
    shapes: NDArray[np.int64]

    def counts(self, rows: Rows) -> tuple[Rows, Rows]:
        return self.offsets[rows], self.offsets[rows + 1]

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        (lows, highs), shapes = self.counts(rows), self.shapes[rows]
        fitting = have_size(shapes, lows, highs) & lie_within(lows, highs, self.array.shape[0])
        check_elements(rows, fitting, self.path)
        parts = zip(self.contents(rows), shapes.tolist(), strict=True)
        return [np.frombuffer(bytes(content), self.array.dtype).reshape(shape) for content, shape in parts]


@frozen(eq=False)
class TextRowsOfObject(ObjectRows):
    """Texts or bytes, with the begin of each."""

    path: str
    offsets: NDArray[np.int64]
    decode: bool

    def counts(self, rows: Rows) -> tuple[Rows, Rows]:
        return self.offsets[rows], self.offsets[rows + 1]

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        lows, highs = self.counts(rows)
        check_elements(rows, lie_within(lows, highs, self.array.shape[0]), self.path)
        contents = list(map(bytes, self.contents(rows)))
        return decoded_texts(contents, rows, self.path) if self.decode else contents


def saved_objects(url: str, options: Mapping[str, Any] | None) -> SavedObjects:
    """Return the source of `Dataset.load` of a URL: the objects are found now, and read later."""
    folder = shown_url(url).rstrip("/")
    manifest = manifest_at(url, options)
    while True:
        names = [*manifest.files, *([] if manifest.crc32c is None else [manifest.sums])]
        try:
            found = find_objects([below_url(url, name) for name in names], options) if names else []
            break
        except FileNotFoundError as error:
            again = manifest_at(url, options)
            if again == manifest:  # otherwise another dataset has replaced it meanwhile
                raise DataError(f"load({folder!r}): {error}; copy the whole folder again, or save it again") from None
            manifest = again
    objects = {name: cast("RemoteFile", file) for name, file in zip(names, found, strict=True)}
    for name in manifest.files:
        check_saved_size(folder, manifest, name, objects[name].size)
    return SavedObjects(folder, manifest, objects)


def manifest_at(url: str, options: Mapping[str, Any] | None) -> Manifest:
    """Return the manifest of the saved dataset in a folder of a store; raise a `FileNotFoundError` if there is none."""
    split_url(url, options)  # to refuse an impossible one
    folder = shown_url(url).rstrip("/")
    left = _MOST_LOOKS
    while True:
        try:
            file, *others = find_objects([below_url(url, NAME)], options)
        except FileNotFoundError as error:
            error.add_note(f"load({folder!r}): expected a folder that ds.save(url) wrote, with its {NAME}")
            raise
        if others:
            raise PlanError(f"load({folder!r}): matches {1 + len(others)} folders, and one is loaded at a time")
        try:
            content = read_extent(file, 0, file_size(file))
        except DataError:  # another save has replaced it between the two requests
            left -= 1
            if not left:
                raise
        else:
            return parsed_manifest(folder, content)


def below_url(url: str, name: str) -> str:
    """Return the URL of a name in a folder."""
    if "?" in url and scheme_of(url) == "http":
        raise PlanError(
            f"{shown_url(url)}: a URL with a query is one object, and a saved dataset is a folder of several"
        )
    return f"{url}{name}" if url.endswith("/") else f"{url}/{name}"
