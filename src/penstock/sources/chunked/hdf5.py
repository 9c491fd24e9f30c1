"""HDF5 files, through h5py."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from contextlib import nullcontext
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.contexts import contextmanager
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec
from penstock.sources.chunked.arrays import DescribedArray, corners
from penstock.storage.local import Extent
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.opened import PagedReader


@frozen()
class Hdf5:
    """An open HDF5 file, with the parts of a remote one."""

    path: str
    file: Any
    parts: PagedReader | None = None

    def described(self) -> Mapping[str, DescribedArray]:
        h5py = require("h5py", extra="hdf5", purpose="read_hdf5")
        found: dict[str, DescribedArray] = {}

        def visit(name: str | bytes, item: Any) -> None:
            if isinstance(name, bytes):
                raise DataError(f"{self.path}: the name of {item!r:.60} is not UTF-8")
            if isinstance(item, h5py.Dataset) and item.shape:
                spec = _spec(h5py, item)
                if spec is not None:
                    found[name] = DescribedArray(item.shape[0], spec, item.chunks[0] if item.chunks else 1)

        with _errors_at(self.path):
            self.file.visititems(visit)
        return found

    def read(self, name: str, low: int, high: int) -> NDArray[Any]:
        h5py = require("h5py", extra="hdf5", purpose="read_hdf5")
        fetched = nullcontext() if self.parts is None else self.parts.holding(self.extents(name, low, high))
        with fetched, _errors_at(f"{self.path}, {name}, rows {low:,} to {high:,}"):
            item = self.file[name]
            kind = h5py.check_string_dtype(item.dtype)
            return item.asstr()[low:high] if kind is not None and kind.encoding == "utf-8" else item[low:high]

    def extents(self, name: str, low: int, high: int) -> Iterator[Extent]:
        """Yield the extents of these rows, chunk by chunk; variable-length values lie elsewhere, at unknown places."""
        with _errors_at(f"{self.path}, {name}"):
            item = self.file[name]
            if item.chunks:
                for corner in corners(item.shape, item.chunks, low, high):
                    first = tuple(at * size for at, size in zip(corner, item.chunks, strict=True))
                    found = item.id.get_chunk_info_by_coord(first)
                    if found.byte_offset is not None:  # otherwise the chunk was never written
                        yield self.path, found.byte_offset, found.byte_offset + found.size
            elif (begin := item.id.get_offset()) is not None:
                width = item.dtype.itemsize * prod(item.shape[1:])
                yield self.path, begin + low * width, begin + high * width


def open_hdf5(path: str) -> Hdf5:
    """Return a file open for reading; raise a `DataError` if the file is not HDF5."""
    h5py = require("h5py", extra="hdf5", purpose="read_hdf5")
    with _errors_at(f"{path} cannot be read as HDF5"):
        if isinstance(path, RemoteFile):
            parts = PagedReader(path)
            return Hdf5(path, h5py.File(parts, "r"), parts)
        return Hdf5(path, h5py.File(path, "r"))


def _spec(h5py: Any, item: Any) -> LeafSpec | None:
    """Return the spec of a row; `None` if no element can hold one, such as a reference."""
    text = h5py.check_string_dtype(item.dtype)
    if text is not None:
        return ObjectSpec(str if text.encoding == "utf-8" else bytes) if len(item.shape) == 1 else None
    inner = h5py.check_vlen_dtype(item.dtype)
    if inner is not None:
        plain = _as_here(np.dtype(inner))
        return ArraySpec((None,), plain) if len(item.shape) == 1 and not plain.hasobject else None
    return None if item.dtype.hasobject else ArraySpec(item.shape[1:], _as_here(item.dtype))


def _as_here(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return dtype if dtype.fields else dtype.newbyteorder("=")


@contextmanager
def _errors_at(place: str) -> Generator[None]:
    """Raise errors of HDF5 as a `DataError` that begins with the place."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError, DataError):
        raise
    except (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise DataError(f"{place}: {error}") from None
