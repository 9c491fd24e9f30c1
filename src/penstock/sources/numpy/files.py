"""NumPy's files: rows of `.npy` files and of members of `.npz` files, read in place unless compressed."""

from __future__ import annotations

import threading
import zipfile
import zlib
from collections.abc import Collection, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.checks import check_names
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.elements.nested.structure import LEAF, Structure, flatten, unflatten
from penstock.elements.spec import ArraySpec, Spec, sliced
from penstock.kernels import gather
from penstock.kernels.records import RecordReader
from penstock.sources.arrow.tables import relative, shown
from penstock.sources.numpy.headers import Array, FilePart, begins_as_npy, members_of, torn_array
from penstock.sources.unreadable import OfFiles, WithUnreadable, with_unreadable
from penstock.storage.records import open_records
from penstock.storage.remote.opened import open_file
from penstock.storage.sidecar import Stamp
from penstock.storage.state import FileState, OpenedAgain, states_of

_LAST_CODE_POINT = 0x10FFFF
_AT_ONCE = 1 << 20  # bytes for each step of the checksum


@frozen(eq=False)
class NumpyFiles(OpenedAgain):
    """The rows of arrays in files, joined along their first axis; for `.npz` files a dict of arrays."""

    paths: list[str]
    stamps: list[Stamp]
    states: list[FileState]
    arrays: list[Array]
    structure: Structure
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def name(self) -> str:
        return f"read_numpy({shown(self.paths)})"

    @property
    def length(self) -> int:
        return int(self._starts[-1])

    @property
    def file_starts(self) -> Rows:
        """The first row of each file."""
        return self._starts[:-1]

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """The first row of each file, and the end."""
        return np.cumsum([0, *(part.rows for part in self.arrays[0].parts)])

    def spec(self) -> Spec:
        return unflatten(self.structure, [sliced(ArraySpec((None, *a.shape), a.dtype)) for a in self.arrays])

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        rows = np.ascontiguousarray(rows, np.int64)
        memory = out if out is not None and len(out) == len(self.arrays) else [None] * len(self.arrays)
        columns: list[Column] = [self._read(at, rows, into) for at, into in enumerate(memory)]
        return Columns(self.structure, columns, len(rows))

    def _read(self, at: int, rows: Rows, into: NDArray[Any] | None) -> NDArray[Any]:
        array = self.arrays[at]
        shape = (len(rows), *array.shape)
        fits = into is not None and into.shape == shape and into.dtype == array.dtype and into.flags.c_contiguous
        if not array.in_place:
            values = gather(self._whole(at), rows, into if fits else None)
            self._check_text(values, rows)
            return values
        if self._unchecked[at]:
            self._check_stored(at, rows)
        values = into if fits and into is not None else np.empty(shape, array.dtype)
        content = values.reshape(-1).view(np.uint8) if len(rows) else np.empty(0, np.uint8)
        self._readers[at].join(rows, lambda *_: content)
        values = values.byteswap(inplace=True) if array.swapped else values
        self._check_text(values, rows)
        return values

    @cached_property
    def _unchecked(self) -> list[set[int]]:
        """For each array, the files with a member whose checksum has not been verified yet."""
        return [{i for i, part in enumerate(array.parts) if part.stored is not None} for array in self.arrays]

    def _check_stored(self, at: int, rows: Rows) -> None:
        """Verify the checksums of the members with these rows, each once."""
        found = np.searchsorted(self._starts, rows, side="right") - 1
        with self._lock:
            for file in sorted(self._unchecked[at].intersection(found.tolist())):
                part = self.arrays[at].parts[file]
                self.states[file].check(self.paths[file])
                if part.stored is not None and _crc32(self.paths[file], *part.stored[:2]) != part.stored[2]:
                    self.states[file].check(self.paths[file])
                    error = DataError(f"{self.paths[file]}, {part.member}: it is damaged: its CRC-32 does not match")
                    error.element = int(np.argmax(found == file))
                    raise error
                self._unchecked[at].discard(file)

    def _check_text(self, values: NDArray[Any], rows: Rows) -> None:
        """Raise a `DataError` for invalid code points: no valid text has them."""
        for text in _texts_in(values):
            points = np.ascontiguousarray(text).view(np.uint32).reshape(len(rows), -1) if text.size else text
            if points.size and points.max() > _LAST_CODE_POINT:
                wrong = points > _LAST_CODE_POINT
                element = int(wrong.any(axis=1).argmax())
                error = DataError(
                    f"{self.describe(int(rows[element]))}: {int(points[wrong][0]):#x} is not a valid code point: the "
                    "file is damaged"
                )
                error.element = element
                raise error

    @cached_property
    def _readers(self) -> list[RecordReader]:
        """The readers of the rows that can be read in place."""
        return [self._reader(array) for array in self.arrays]

    def _reader(self, array: Array) -> RecordReader:
        parts = array.parts if array.in_place else ()
        begins = [range(part.begin, part.begin + part.rows * array.width, array.width) for part in parts]
        ends = [range(each.start + array.width, each.stop + array.width, array.width) for each in begins]
        states = [self.states[part.file] for part in parts]
        sizes, times = [state.size for state in states], [state.mtime_ns for state in states]
        return open_records([self.paths[part.file] for part in parts], begins, ends, sizes, times)

    @cached_property
    def _wholes(self) -> dict[int, NDArray[Any]]:
        return {}

    def _whole(self, at: int) -> NDArray[Any]:
        """Return an array that cannot be read row by row: loaded once, as a whole."""
        with self._lock:
            found = self._wholes.get(at)
            if found is None:
                array = self.arrays[at]
                parts = [self._loaded(part, array) for part in array.parts]
                found = parts[0] if len(parts) == 1 else np.concatenate(parts)
                found.flags.writeable = False
                self._wholes[at] = found
            return found

    def _loaded(self, part: FilePart, array: Array) -> NDArray[Any]:
        path, state = self.paths[part.file], self.states[part.file]
        state.check(path)
        found = _load(path, part, array)
        state.check(path)
        return found

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read rows that are read in place."""
        for array, reader in zip(self.arrays, self._readers, strict=True):
            if array.in_place:
                reader.advise(np.ascontiguousarray(rows, np.int64))

    def describe(self, row: int) -> str:
        file = int(self._starts.searchsorted(row, "right")) - 1
        return f"{self.paths[file]}, row {row - int(self._starts[file]):,}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the files' names, sizes and digests of parts of their content, and the type of each array."""
        files = [(stamp.size, stamp.digest) for stamp in self.stamps]
        arrays = [(str(array.dtype), array.shape) for array in self.arrays]
        return ("numpy", relative(self.paths), files, repr(self.structure), arrays)


def numpy_files(paths: list[str], columns: str | Sequence[str] | None = None) -> OfFiles | WithUnreadable:
    """Return the source of `ps.read_numpy`; an unreadable file among others is one failing row."""
    names = None if columns is None or isinstance(columns, str) else check_names("read_numpy", "columns", columns)
    wanted = columns if isinstance(columns, str) else names

    def make(some: list[str], torn: Collection[str]) -> NumpyFiles:
        return _numpy_files(some, torn, wanted)

    return with_unreadable(paths, make, lambda path: list(members_of(0, path)), begins_as_npy)


def _numpy_files(paths: list[str], torn: Collection[str], columns: str | Sequence[str] | None) -> NumpyFiles:
    states, stamps = states_of(paths), [Stamp.of(path) for path in paths]
    found = [
        {"": torn_array(file, path)} if path in torn else _chosen(dict(members_of(file, path)), columns, path)
        for file, path in enumerate(paths)
    ]
    first = found[0]
    if not first:
        raise DataError(f"{paths[0]}: it has no array")
    for path, members in zip(paths, found, strict=True):
        lengths = {name: array.parts[0].rows for name, array in members.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"{path}: its arrays have different lengths: {lengths}; each element needs a row of each")
        if list(members) != list(first) and sorted(members) != sorted(first):
            raise DataError(f"{paths[0]} and {path} differ: {sorted(first)} against {sorted(members)}")
        for name, array in members.items():
            one = first[name]
            if (array.dtype, array.shape, array.swapped) != (one.dtype, one.shape, one.swapped):
                at = f" of {name!r}" if name else ""
                raise DataError(
                    f"{paths[0]} and {path} differ: rows{at} are {one.dtype}{list(one.shape)} in the first and "
                    f"{array.dtype}{list(array.shape)} in the second"
                )
    if list(first) == [""]:
        joined: Any = _joined([members[""] for members in found])
        return NumpyFiles(paths, stamps, states, [joined], LEAF)
    if isinstance(columns, str):
        return NumpyFiles(paths, stamps, states, [_joined([members[columns] for members in found])], LEAF)
    names, structure = flatten({name: name for name in first})
    arrays = [_joined([members[name] for members in found]) for name in names]
    return NumpyFiles(paths, stamps, states, arrays, structure)


def _chosen(members: dict[str, Array], columns: str | Sequence[str] | None, path: str) -> dict[str, Array]:
    """Return the arrays of a file to read."""
    if columns is None:
        return members
    if list(members) == [""]:
        raise PlanError(f"read_numpy(columns={columns!r}): {path} has one array without a name; omit columns=")
    names = [columns] if isinstance(columns, str) else columns
    for name in names:
        if name not in members:
            raise PlanError(f"read_numpy(columns=): there is no {name!r} in {path}; it has {', '.join(members)}")
    return {name: members[name] for name in names}


def _joined(arrays: list[Array]) -> Array:
    return replace(arrays[0], parts=tuple(part for array in arrays for part in array.parts))


def _crc32(path: str, begin: int, end: int) -> int:
    """Return the CRC-32 of a part of a file."""
    crc = 0
    with open_file(path) as file:
        file.seek(begin)
        while begin < end and (data := file.read(min(_AT_ONCE, end - begin))):
            crc = zlib.crc32(data, crc)
            begin += len(data)
    return crc


def _texts_in(values: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield the parts of an array that are text."""
    if values.dtype.kind == "U":
        yield values
    for name in values.dtype.names or ():
        yield from _texts_in(values[name])


def _load(path: str, part: FilePart, array: Array) -> NDArray[Any]:
    try:
        with open_file(path) as file:
            if not part.member:
                found: NDArray[Any] = np.load(file, allow_pickle=False)
            else:
                with zipfile.ZipFile(file) as archive, archive.open(part.member) as member:
                    found = np.lib.format.read_array(member, allow_pickle=False)
                    member.read()  # to its end, where the checksum is verified
    except (ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
        raise DataError(f"{path}{part.member and ', '}{part.member}: {error}") from None
    stored = array.dtype.newbyteorder("S") if array.swapped else array.dtype
    if found.shape != (part.rows, *array.shape) or found.dtype != stored:
        raise DataError(f"{path}: it holds {found.dtype}{list(found.shape)} now; make the dataset again")
    return np.ascontiguousarray(found, array.dtype)
