"""Read and write datasets of `ds.save(url)` in remote stores: rows by ranges, their places once as a whole."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.kernels.records import RecordReader
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
    sound_rows,
)
from penstock.sources.saved.sums import CheckedBlocks, Sums, parsed_sums
from penstock.sources.saved.writing import write_files
from penstock.storage.local import file_size, read_extent
from penstock.storage.records import open_records
from penstock.storage.remote.file import RemoteFile, shown_url
from penstock.storage.remote.listing import find_objects
from penstock.storage.remote.opened import RemoteReader, open_parts
from penstock.storage.remote.stores import scheme_of, split_url
from penstock.storage.remote.writing import delete_objects, write_to_url


@frozen(eq=False)
class SavedObjects(SavedElements):
    """The elements of a saved dataset in a remote store, whose objects are in the order of the manifest's files.

    The offsets and shapes of texts and uneven arrays are read once, as a whole, and compared with their checksums.
    Values are read in ranges of the rows that are asked for, which checksums of larger blocks do not fit.
    """

    objects: Mapping[str, RemoteFile]
    """The objects by the names of their files, that of the checksums among them."""

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        rows = np.ascontiguousarray(rows, np.int64)
        memory = out if out is not None and len(out) == len(self._leaves) else [None] * len(self._leaves)
        columns = [leaf.read(rows, into) for leaf, into in zip(self._leaves, memory, strict=True)]
        return Columns(self.manifest.structure, columns, len(rows))

    def verify(self, rows: Rows) -> NDArray[np.bool_]:
        """Return which elements are as they were written, `bool[k]`, by reading whole blocks, which have checksums."""
        rows = np.ascontiguousarray(rows, np.int64)
        sound = np.ones(len(rows), np.bool_)
        for leaf, blocks in zip(self._leaves, self._blocks, strict=True):
            sound &= sound_rows(rows, lambda some, leaf=leaf, blocks=blocks: leaf.verify(some, blocks))
        return sound

    def advise(self, rows: Rows) -> None:
        """Begin to fetch the values of some rows."""
        rows = np.ascontiguousarray(rows, np.int64)
        for leaf in self._leaves:
            leaf.reader.advise(rows)

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
    def _leaves(self) -> list[ObjectRows]:
        return [self._opened(leaf) for leaf in self.manifest.leaves]

    @cached_property
    def _blocks(self) -> list[CheckedBlocks]:
        """The blocks of the file of values of each leaf."""
        files = [leaf.files[0] for leaf in self.manifest.leaves]
        return [CheckedBlocks(self.objects[name], _Fetched(self.objects[name]), self._sums.get(name)) for name in files]

    def _opened(self, leaf: SavedLeaf) -> ObjectRows:
        """Return the values of a leaf; raise a `DataError` if a file holds another array."""
        found = [
            self._header(name, *form) for name, form in zip(leaf.files, file_forms(leaf, self.length), strict=True)
        ]
        places = [_whole(each, self._sums.get(name)) for name, each in zip(leaf.files[1:], found[1:], strict=True)]
        values, base = found[0], f"{self.folder}/{leaf.file}"
        if leaf.kind == "array":
            return ArrayRowsOfObject(values, values.row_bounds())
        if leaf.kind == "uneven":
            return UnevenRowsOfObject(values, values.bounds(places[0]), base, *places)
        return TextRowsOfObject(values, values.bounds(places[0]), base, places[0], leaf.kind == "str")

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

    def row_bounds(self) -> NDArray[np.int64]:
        """Return the n + 1 positions in the file between the rows along the first axis."""
        return self.begin + self.dtype.itemsize * math.prod(self.shape[1:]) * np.arange(self.shape[0] + 1)

    def bounds(self, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions in the file at offsets that count values."""
        return self.begin + self.dtype.itemsize * offsets


class _Fetched:
    """The content of an object, fetched ahead if its parts are taken in order."""

    def __init__(self, file: RemoteFile) -> None:
        self._reader = RemoteReader(file)

    def __getitem__(self, part: slice) -> bytes:
        self._reader.seek(part.start)
        return self._reader.read(part.stop - part.start)


def _whole(array: StoredArray, sums: Sums | None) -> NDArray[Any]:
    """Return an array whose object is read as a whole and verified."""
    content = np.frombuffer(read_extent(array.file, 0, array.file.size), np.uint8)
    CheckedBlocks(array.file, content, sums).check(np.zeros(1, np.int64), np.full(1, len(content)))
    end = array.begin + array.dtype.itemsize * math.prod(array.shape)
    return content[array.begin : end].view(array.dtype).reshape(array.shape)


@frozen(eq=False)
class ObjectRows:
    """The values of one leaf in an object, with the n + 1 positions between those of the elements."""

    array: StoredArray
    bounds: NDArray[np.int64]

    @cached_property
    def reader(self) -> RecordReader:
        """The reader of the bytes of each element."""
        file = self.array.file
        return open_records([file], [self.bounds[:-1]], [self.bounds[1:]], [file.size], [None])

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        """Return the values at `rows`, perhaps in the given memory."""
        raise NotImplementedError

    def verify(self, rows: Rows, blocks: CheckedBlocks) -> None:
        """Verify the checksums of all blocks with values of some rows, and read these."""
        blocks.check(self.bounds[rows], self.bounds[rows + 1])
        self.read(rows, None)


@frozen(eq=False)
class ArrayRowsOfObject(ObjectRows):
    """Arrays of one shape, as the rows of one array."""

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        shape, dtype = (len(rows), *self.array.shape[1:]), self.array.dtype
        fits = into is not None and (into.shape, into.dtype) == (shape, dtype) and into.flags.c_contiguous
        values = into if fits and into is not None else np.empty(shape, dtype)
        content = values.reshape(-1).view(np.uint8) if values.size else np.empty(0, np.uint8)
        self.reader.join(rows, lambda *_: content)
        return values


@frozen(eq=False)
class UnevenRowsOfObject(ObjectRows):
    """Arrays of different shapes, with the begin and shape of each."""

    path: str
    offsets: NDArray[np.int64]
    shapes: NDArray[np.int64]

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        lows, highs, shapes = self.offsets[rows], self.offsets[rows + 1], self.shapes[rows]
        fitting = have_size(shapes, lows, highs) & lie_within(lows, highs, self.array.shape[0])
        check_elements(rows, fitting, self.path)
        parts = zip(self.reader.read(rows), shapes.tolist(), strict=True)
        return [np.frombuffer(content, self.array.dtype).reshape(shape) for content, shape in parts]


@frozen(eq=False)
class TextRowsOfObject(ObjectRows):
    """Texts or bytes, with the begin of each."""

    path: str
    offsets: NDArray[np.int64]
    decode: bool

    def read(self, rows: Rows, into: NDArray[Any] | None) -> Column:
        lows, highs = self.offsets[rows], self.offsets[rows + 1]
        check_elements(rows, lie_within(lows, highs, self.array.shape[0]), self.path)
        contents = self.reader.read(rows)
        return decoded_texts(contents, rows, self.path) if self.decode else contents


def saved_objects(url: str, options: Mapping[str, Any] | None) -> SavedObjects:
    """Return the source of `Dataset.load` of a URL: the objects are found now, and read later."""
    folder = shown_url(url).rstrip("/")
    manifest = _manifest(url, options)
    names = [*manifest.files, *([] if manifest.crc32c is None else [manifest.sums])]
    try:
        found = find_objects([_below(url, name) for name in names], options) if names else []
    except FileNotFoundError as error:
        raise DataError(f"load({folder!r}): {error}; copy the whole folder again, or save it again") from None
    objects = {name: cast("RemoteFile", file) for name, file in zip(names, found, strict=True)}
    for name in manifest.files:
        check_saved_size(folder, manifest, name, objects[name].size)
    return SavedObjects(folder, manifest, objects)


def _manifest(url: str, options: Mapping[str, Any] | None) -> Manifest:
    split_url(url, options)  # to refuse an impossible one
    folder = shown_url(url).rstrip("/")
    try:
        file, *others = find_objects([_below(url, NAME)], options)
    except FileNotFoundError as error:
        error.add_note(f"load({folder!r}): expected a folder that ds.save(url) wrote, with its {NAME}")
        raise
    if others:
        raise PlanError(f"load({folder!r}): matches {1 + len(others)} folders, and one is loaded at a time")
    return parsed_manifest(folder, read_extent(file, 0, file_size(file)))


def _below(url: str, name: str) -> str:
    if "?" in url and scheme_of(url) == "http":
        raise PlanError(
            f"{shown_url(url)}: a URL with a query is one object, and a saved dataset is a folder of several"
        )
    return f"{url}{name}" if url.endswith("/") else f"{url}/{name}"


def save_to_url(
    elements: Iterable[Any], url: str, options: Mapping[str, Any] | None, *, fingerprint: str, overwrite: bool
) -> None:
    """Write the elements of a dataset into a folder of a store, whose manifest is the last object that is sent.

    The others have new names, so a dataset that is replaced can be loaded until then. Its objects are deleted in the
    end. Raise a `FileExistsError` if there is a dataset, unless `overwrite`.
    """
    split_url(url, options)  # to refuse an impossible one
    tag = f"-{os.urandom(4).hex()}"

    def write(path: str) -> list[str]:
        folder = os.path.dirname(path)
        made = write_files(elements, folder, fingerprint, tag)
        made.write(folder)
        return [os.path.join(folder, name) for name in (*made.files, made.sums, NAME)]

    replaced = None
    if overwrite:
        with suppress(FileNotFoundError, DataError):
            replaced = _manifest(url, options)
    write_to_url(write, _below(url, NAME), options, in_shards=False, overwrite=overwrite)
    if replaced is not None:
        delete_objects([_below(url, name) for name in (*replaced.files, replaced.sums)], options)
