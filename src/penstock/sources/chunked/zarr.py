"""Zarr stores, through the zarr package."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, MutableMapping
from contextlib import nullcontext
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.contexts import contextmanager
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec
from penstock.sources.chunked.arrays import DescribedArray, corners
from penstock.storage.local import Extent
from penstock.storage.remote.fetcher import fetcher
from penstock.storage.remote.folder import RemoteFolder

_WHOLE = 1 << 62  # bytes: beyond the end of any file


@frozen()
class Zarr:
    """An open store: a group of arrays, or one array with an empty path; a remote one with its objects."""

    path: str
    node: Any
    objects: FetchedObjects | None = None

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
        fetched = nullcontext() if self.objects is None else self.objects.holding(self.extents(name, low, high))
        with fetched, _errors_at(f"{self.path}{name and ', '}{name}, rows {low:,} to {high:,}"):
            return np.asarray((self.node[name] if name else self.node)[low:high])

    def extents(self, name: str, low: int, high: int) -> Iterator[Extent]:
        """Yield the files with the chunks or shards of these rows, if the store is a folder; those that are there."""
        with _errors_at(f"{self.path}{name and ', '}{name}"):
            array = self.node[name] if name else self.node
            folder = getattr(array.store, "root", None)
            if folder is None and self.objects is None:
                return
            for corner in corners(array.shape, _chunks(array), low, high):
                key = os.path.join(array.path, array.metadata.encode_chunk_key(corner))
                if self.objects is None:
                    yield os.path.join(cast("str", folder), key), 0, _WHOLE
                elif (found := self.objects.folder.objects.get(key)) is not None:
                    yield found, 0, found.size


class FetchedObjects(MutableMapping[str, Any]):
    """The objects of a remote folder as buffers of Zarr, by their names below it."""

    def __init__(self, folder: RemoteFolder) -> None:
        self.folder = folder
        self._held: dict[str, Any] = {}
        cpu = require("zarr.buffer.cpu", extra="zarr", purpose="read_zarr")
        self._buffer: Callable[[memoryview], Any] = cpu.Buffer.from_bytes

    @contextmanager
    def holding(self, extents: Iterable[Extent]) -> Generator[None]:
        """Fetch some objects at once, and hold them meanwhile."""
        wanted = list(extents)
        contents = fetcher().read(wanted)
        start = len(self.folder.rstrip("/")) + 1
        held = {path[start:]: self._buffer(content) for (path, _, _), content in zip(wanted, contents, strict=True)}
        self._held.update(held)
        try:
            yield
        finally:
            for name in held:
                self._held.pop(name, None)  # another thread may have held it too, and fetches it again

    def __getitem__(self, name: str) -> Any:
        held = self._held.get(name)
        if held is not None:
            return held
        found = self.folder.objects[name]
        return self._buffer(fetcher().read([(found, 0, found.size)])[0])

    def __iter__(self) -> Iterator[str]:
        return iter(self.folder.objects)

    def __len__(self) -> int:
        return len(self.folder.objects)

    def __contains__(self, name: object) -> bool:
        return name in self.folder.objects

    def __setitem__(self, name: str, value: Any) -> None:
        raise TypeError("the objects of a remote folder are read only")

    def __delitem__(self, name: str) -> None:
        raise TypeError("the objects of a remote folder are read only")


def open_zarr(path: str) -> Zarr:
    """Return a store open for reading; raise a `DataError` if there is none."""
    zarr = require("zarr", extra="zarr", purpose="read_zarr")
    if isinstance(path, RemoteFolder):
        objects = FetchedObjects(path)
        with _errors_at(f"{path} cannot be read as Zarr"):
            return Zarr(path, zarr.open(zarr.storage.MemoryStore(objects, read_only=True), mode="r"), objects)
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
