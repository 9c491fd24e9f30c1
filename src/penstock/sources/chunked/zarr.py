"""Zarr stores, through the zarr package."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec
from penstock.sources.chunked.arrays import DescribedArray, corners
from penstock.storage.local import Extent

_WHOLE = 1 << 62  # bytes: beyond the end of any file


@frozen()
class Zarr:
    """An open store: a group of arrays, or one array with an empty path."""

    path: str
    node: Any

    def described(self) -> Mapping[str, DescribedArray]:
        with _errors_at(self.path):
            return {name: described for name, array in self._arrays() if (described := _described(array)) is not None}

    def _arrays(self) -> list[tuple[str, Any]]:
        zarr = require("zarr", extra="zarr", purpose="read_zarr")
        if isinstance(self.node, zarr.Array):
            return [("", self.node)]
        found = self.node.members(max_depth=None)
        return sorted((name, item) for name, item in found if isinstance(item, zarr.Array))

    def read(self, name: str, low: int, high: int) -> NDArray[Any]:
        with _errors_at(f"{self.path}{name and ', '}{name}, rows {low:,} to {high:,}"):
            return np.asarray((self.node[name] if name else self.node)[low:high])

    def extents(self, name: str, low: int, high: int) -> Iterator[Extent]:
        """Yield the files with the chunks or shards of these rows, if the store is a folder."""
        with _errors_at(f"{self.path}{name and ', '}{name}"):
            array = self.node[name] if name else self.node
            folder = getattr(array.store, "root", None)
            if folder is not None:
                for corner in corners(array.shape, _chunks(array), low, high):
                    yield os.path.join(folder, array.path, array.metadata.encode_chunk_key(corner)), 0, _WHOLE


def open_zarr(path: str) -> Zarr:
    """Return a store open for reading; raise a `DataError` if there is none."""
    zarr = require("zarr", extra="zarr", purpose="read_zarr")
    if not os.path.exists(path):
        raise FileNotFoundError(f"there is no Zarr store at {os.path.abspath(path)}")
    with _errors_at(f"{path} cannot be read as Zarr"):
        return Zarr(path, zarr.open(path, mode="r"))


def _described(array: Any) -> DescribedArray | None:
    if not array.shape:
        return None
    spec = _spec(array)
    return None if spec is None else DescribedArray(array.shape[0], spec, _chunks(array)[0])


def _chunks(array: Any) -> tuple[int, ...]:
    """Return the shape of a unit of storage: a shard, else a chunk."""
    return getattr(array, "shards", None) or array.chunks


def _spec(array: Any) -> LeafSpec | None:
    """Return the spec of a row; `None` if no element can hold one."""
    if array.dtype.kind in "OTU":
        return ObjectSpec(str) if array.ndim == 1 else None
    if array.dtype.kind == "S":
        return ObjectSpec(bytes) if array.ndim == 1 else None
    return ArraySpec(array.shape[1:], array.dtype if array.dtype.fields else array.dtype.newbyteorder("="))


@contextmanager
def _errors_at(place: str) -> Generator[None]:
    """Raise errors of Zarr as a `DataError` that begins with the place."""
    try:
        yield
    except (PermissionError, DataError):
        raise
    except Exception as error:  # noqa: BLE001 - codecs and stores raise exceptions of their own
        raise DataError(f"{place}: {type(error).__name__}: {error}") from None
