"""Write elements into a folder, which appears only once complete."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.digest import digest, hasher
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Items
from penstock.elements.leaves.masked import is_masked, refuse_masked
from penstock.elements.nested.plain import nesting_of
from penstock.elements.nested.structure import paths
from penstock.elements.size import bytes_of
from penstock.elements.spec import ArraySpec, ObjectSpec, leaf_spec
from penstock.sources.saved.manifest import NAME, SUMS, TEXTS, Manifest, SavedLeaf
from penstock.sources.saved.sums import write_sums

MOST_ELEMENTS = 1 << 12  # written at once
_MOST_BYTES = 1 << 24  # written at once, about


def save(elements: Iterable[Any], folder: str, *, fingerprint: str, overwrite: bool) -> None:
    """Write the elements of a dataset with this fingerprint into a new folder, which appears only once complete.

    All elements need one structure of dicts with text keys, tuples and lists; leaves are arrays and numbers of one
    dtype and rank, bytes or texts. Raise an `ElementError` otherwise, and a `FileExistsError` if the folder exists,
    unless `overwrite`, which replaces a saved dataset only.
    """
    _check_target(folder, overwrite=overwrite)
    parent, name = os.path.split(os.path.abspath(folder))
    os.makedirs(parent, exist_ok=True)
    beside = os.path.join(parent, f".{name}.{os.urandom(4).hex()}")
    os.mkdir(beside)
    try:
        write_files(elements, beside, fingerprint).write(beside)
        _put_in_place(beside, folder)
    except BaseException:
        _remove(beside)
        raise


def _check_target(folder: str, *, overwrite: bool) -> None:
    if not os.path.lexists(folder) or (os.path.isdir(folder) and not os.listdir(folder)):
        return
    if not overwrite:
        raise FileExistsError(f"save({folder!r}): it exists already; remove it, or pass overwrite=True")
    if not os.path.isfile(os.path.join(folder, NAME)):
        raise FileExistsError(
            f"save({folder!r}): it exists and is not a saved dataset, so it is not overwritten; remove it yourself"
        )


def _put_in_place(beside: str, folder: str) -> None:
    if os.path.isdir(folder) and os.listdir(folder):
        replaced = f"{beside}.replaced"
        os.rename(folder, replaced)
        os.rename(beside, folder)
        _remove(replaced)
    else:
        os.rename(beside, folder)


def _remove(folder: str) -> None:
    import shutil  # only here

    shutil.rmtree(folder, ignore_errors=True)


def write_files(elements: Iterable[Any], folder: str, fingerprint: str, tag: str = "") -> Manifest:
    """Write the files of a dataset, whose names end with the tag, into a folder; return their manifest, not written."""
    leaves: list[TextFiles | ArrayFiles] = []
    nesting: Any = None
    length = 0
    try:
        for run in _runs(iter(elements)):
            columns = Items(run).to_columns(range(length, length + len(run)), operation="save")
            told = nesting_of(run[0], "save()")
            if nesting is None:
                nesting, names = told, paths(columns.structure)
                values = [column[0] for column in columns.columns]
                for index, (value, path) in enumerate(zip(values, names, strict=True)):
                    leaves.append(_files_for(value, os.path.join(folder, f"leaf-{index}{tag}"), path))
            elif told != nesting:
                raise ElementError(f"save(): element {length} is {run[0]!r:.60}, of another structure than element 0")
            for leaf, column in zip(leaves, columns.columns, strict=True):
                leaf.append(list(column), length)
            length += len(run)
        described = tuple(leaf.finish() for leaf in leaves)
    finally:
        for leaf in leaves:
            leaf.close()
    sizes = {name: os.path.getsize(os.path.join(folder, name)) for leaf in described for name in leaf.files}
    untagged = tuple(replace(leaf, file=f"leaf-{index}") for index, leaf in enumerate(described))
    content = repr((length, nesting, untagged, [leaf.digests() for leaf in leaves]))
    crc = write_sums(folder, [name for leaf in described for name in leaf.files])
    sums = SUMS
    if tag:
        root, extension = os.path.splitext(SUMS)
        sums = f"{root}{tag}-{crc:08x}{extension}"  # a name that its content proves
        os.rename(os.path.join(folder, SUMS), os.path.join(folder, sums))
    return Manifest(length, nesting, described, sizes, digest(content.encode()), fingerprint, crc, sums)


def _runs(elements: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield the elements in runs that are written at once."""
    count = 1
    while run := list(islice(elements, count)):
        yield run
        count = max(min(MOST_ELEMENTS, _MOST_BYTES // max(bytes_of(run[-1]), 1)), 1)


def _files_for(value: Any, base: str, path: str) -> TextFiles | ArrayFiles:
    """Return the writer for a leaf whose first value is `value`."""
    spec = leaf_spec(value)
    if isinstance(spec, ObjectSpec) and spec.type in TEXTS.values():
        return TextFiles(base, path, spec.type)
    at = f" at {path}" if path else ""
    if isinstance(spec, ArraySpec) and spec.dtype.type is np.record:
        raise ElementError(
            f"save(): the array{at} has records; map it to np.asarray(value).view(np.dtype((np.void, value.dtype)))"
        )
    if isinstance(spec, ArraySpec) and not spec.dtype.hasobject:
        if np.lib.format.descr_to_dtype(np.lib.format.dtype_to_descr(spec.dtype)) != spec.dtype:
            raise ElementError(
                f"save(): .npy files hold no {spec.dtype}, the dtype of the array{at}; map it to "
                f"value.astype(np.float32), or to its bits, value.view(np.uint{8 * spec.dtype.itemsize})"
            )
        return ArrayFiles(base, path, spec)
    raise ElementError(
        f"save(): {value!r:.60}{at} is not a number, an array of numbers, text or bytes; map it to one of these, "
        "or save before the operation that makes it"
    )


class TextFiles:
    """The files of a leaf of texts or bytes, which grow with each run of elements."""

    def __init__(self, base: str, path: str, cls: type) -> None:
        self._base, self._path, self._cls = base, path, cls
        self._values = GrowingArray(f"{base}.values.npy", np.dtype(np.uint8))
        self._offsets = GrowingArray(f"{base}.offsets.npy", np.dtype(np.int64))
        self._offsets.write(np.zeros(1, np.int64))

    def append(self, values: list[Any], row: int) -> None:
        """Write the values of one run, the first of which belongs to element `row`."""
        for index, value in enumerate(values):
            if not isinstance(value, self._cls):
                raise _differs(row + index, self._path, type(value).__name__, self._cls.__name__)
        contents = [value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value for value in values]
        ends = np.cumsum(list(map(len, contents))) + self._values.count
        self._values.write(np.frombuffer(b"".join(contents), np.uint8))
        self._offsets.write(ends)

    def finish(self) -> SavedLeaf:
        """Complete the files and return their description."""
        for array in (self._values, self._offsets):
            array.finish((array.count,))
        kind = next(name for name, cls in TEXTS.items() if cls is self._cls)
        return SavedLeaf(os.path.basename(self._base), kind, "", ())

    def digests(self) -> list[str]:
        """Return a digest of the content of each file."""
        return [self._values.digest(), self._offsets.digest()]

    def close(self) -> None:
        """Close the files."""
        self._values.close()
        self._offsets.close()


class ArrayFiles:
    """The files of a leaf of numbers or arrays; their kind depends on whether all shapes are equal."""

    def __init__(self, base: str, path: str, spec: ArraySpec) -> None:
        self._base, self._path, self._dtype = base, path, spec.dtype
        self._first = np.array(spec.shape, np.int64)
        self._shapes: list[NDArray[np.int64]] = []  # of each run, (k, rank)
        self._values = GrowingArray(f"{base}.npy", spec.dtype, spec.shape)
        self._others: list[GrowingArray] = []

    def append(self, values: list[Any], row: int) -> None:
        """Write the values of one run, the first of which belongs to element `row`."""
        rank = len(self._first)
        for index, value in enumerate(values):
            spec = leaf_spec(value)
            if is_masked(value):
                refuse_masked(value, f"save(): the masked array of element {row + index}")
            if not isinstance(spec, ArraySpec) or spec.dtype != self._dtype or len(spec.shape) != rank:
                wanted = f"{self._dtype} of {rank} dimensions"
                raise _differs(row + index, self._path, repr(spec), wanted)
            if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
                raise _differs(row + index, self._path, f"{value}, beyond int64", str(self._dtype))
        arrays = [np.asarray(value, self._dtype) for value in values]
        shapes = np.array([array.shape for array in arrays], np.int64).reshape(len(arrays), rank)
        alike = bool((shapes == self._first).all())
        self._shapes.append(np.broadcast_to(self._first, shapes.shape) if alike else shapes)
        # Without the dtype, NumPy joins in this machine's byte order, and leaves out the padding of structures.
        self._values.write(np.concatenate([array.reshape(-1) for array in arrays], dtype=self._dtype))

    def finish(self) -> SavedLeaf:
        """Complete the files and return their description."""
        name, dtype = os.path.basename(self._base), str(self._dtype)
        if all((shapes == self._first).all() for shapes in self._shapes):
            shape = tuple(self._first.tolist())
            self._values.finish((sum(map(len, self._shapes)), *shape))
            return SavedLeaf(name, "array", dtype, shape)
        self._values.finish((self._values.count,))
        os.rename(f"{self._base}.npy", f"{self._base}.values.npy")
        shapes = np.concatenate(self._shapes)
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(shapes.prod(axis=1))])
        for part, content in (("offsets", offsets), ("shapes", shapes)):
            other = GrowingArray(f"{self._base}.{part}.npy", content.dtype, content.shape[1:])
            self._others.append(other)
            other.write(content.reshape(-1))
            other.finish(content.shape)
        same = (shapes == self._first).all(axis=0).tolist()
        known = [size if alike else None for size, alike in zip(self._first.tolist(), same, strict=True)]
        return SavedLeaf(name, "uneven", dtype, tuple(known))

    def digests(self) -> list[str]:
        """Return a digest of the content of each file."""
        return [array.digest() for array in (self._values, *self._others)]

    def close(self) -> None:
        """Close the files."""
        for array in (self._values, *self._others):
            array.close()


class GrowingArray:
    """A growing file in NumPy's format, whose shape is known at the end: `(n, *row)`, or one dimension."""

    def __init__(self, path: str, dtype: np.dtype[Any], row: tuple[int | None, ...] = ()) -> None:
        self._dtype = dtype
        self._file = open(path, "wb")  # noqa: SIM115 - closed by the creator
        self._room = len(_header(dtype, (1 << 62, *row), 0))
        self._file.write(bytes(self._room))
        self._hasher = hasher()
        self.count = 0
        """Values written."""

    def write(self, values: NDArray[Any]) -> None:
        """Add values, of shape (k,)."""
        content = np.ascontiguousarray(values).view(np.uint8).data if values.size else b""
        self._file.write(content)
        self._hasher.update(content)
        self.count += len(values)

    def finish(self, shape: tuple[int, ...]) -> None:
        """Write the shape, and flush everything to the disk."""
        self._file.seek(0)
        self._file.write(_header(self._dtype, shape, self._room))
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()

    def digest(self) -> str:
        """Return a digest of the values."""
        return self._hasher.hexdigest()

    def close(self) -> None:
        """Close the file; what `finish` could not write, as on a full disk, is an error there."""
        with suppress(OSError):
            self._file.close()


def _header(dtype: np.dtype[Any], shape: tuple[Any, ...], room: int) -> bytes:
    """Return the header of a `.npy` file, of at least `room` bytes."""
    made = BytesIO()
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_2_0(made, {"descr": descr, "fortran_order": False, "shape": shape})
    header = made.getvalue()
    more = room - len(header)
    if more <= 0:
        return header
    length = int.from_bytes(header[8:12], "little") + more  # of the text, which ends in spaces and a line feed
    return header[:8] + length.to_bytes(4, "little") + header[12:-1] + b" " * more + header[-1:]


def _differs(row: int, path: str, one: str, other: str) -> ElementError:
    at = f" at {path}" if path else ""
    return ElementError(f"save(): element {row}{at} is {one}, and the first is {other}; save elements of one kind")
