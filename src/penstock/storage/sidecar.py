"""Index files: the places of the records of one data file, checked, memory-mapped, and verified to be current."""

from __future__ import annotations

import json
import math
import operator
import os
import re
import struct
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.digest import hasher
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.kernels import MappedFile, maps_cut
from penstock.kernels.records import crc32c
from penstock.storage.paths import INDEX_MAGIC
from penstock.storage.remote.file import RemoteFile
from penstock.storage.state import FileState

_VERSION = 1
_HEAD = struct.Struct("<8sIII4x")  # magic, version, bytes of the description, its CRC-32C
_NUMBERS = re.compile("[<>|][biufc][0-9]{1,2}")
_ALIGNED = 64  # alignment of arrays in bytes
_READ_UP_TO = 1 << 16  # bytes of arrays
_SAMPLE = 1 << 12  # bytes read at each of _SAMPLES places
_SAMPLES = 16
_EDGE = 1 << 16  # bytes read at the beginning and the end


@frozen()
class Stamp:
    """The state of a file: its size, the time of its last change, and a digest of samples of its content.

    The digest covers the first and the last 64 KiB and 16 places between, so that its cost does not grow with the file.
    """

    size: int
    mtime_ns: int
    digest: str

    @classmethod
    def of(cls, path: str) -> Stamp:
        """Return the current stamp of a file."""
        if isinstance(path, RemoteFile):
            from penstock.storage.remote.fetcher import fetcher

            samples = [(path, begin, begin + count) for begin, count in _samples(path.size)]
            return cls(path.size, 0, _digest(fetcher().read(samples)))
        with open(path, "rb") as file:
            status = os.fstat(file.fileno())
            return cls(status.st_size, status.st_mtime_ns, _digest_of(file.fileno(), status.st_size))

    @property
    def is_exact(self) -> bool:
        """True if the digest covers all the content."""
        return self.size <= 2 * _EDGE

    def is_of(self, path: str) -> bool:
        """Return whether the file is unchanged; a copy, or a file that was only touched, counts as unchanged."""
        status = os.stat(path)
        if status.st_size != self.size:
            return False
        if status.st_mtime_ns == self.mtime_ns:
            return True
        with open(path, "rb") as file:
            return _digest_of(file.fileno(), self.size) == self.digest


@frozen()
class Sidecar:
    """The index of one data file: its `format` and parameters, and the index arrays by name.

    Arrays of a loaded index are mapped, read-only, unless small: 10⁸ offsets take memory only where read. Call
    `check_mapped` after reading, except in kernels that guard their reads.
    """

    format: str
    parameters: Mapping[str, Any]
    stamp: Stamp
    arrays: Mapping[str, NDArray[Any]]
    mapped: MappedFile | None = None
    state: FileState | None = None
    """The state of the data file when this process verified the index; not saved."""

    fault: Exception | None = None
    """The error of the data file after the indexed records; not saved."""

    @property
    def time(self) -> int | None:
        """The time of the last change of the data file when the index was verified, in ns."""
        return None if self.state is None else self.state.mtime_ns

    def check(self, path: str) -> None:
        """Raise a `DataError` if the data file at `path` was changed or replaced since the index was verified."""
        if self.state is not None:
            self.state.check(path)

    def save(self, path: str) -> None:
        """Write the index atomically, replacing an existing one."""
        sections: list[dict[str, Any]] = []
        position = 0
        for name, array in self.arrays.items():
            sections.append({
                "name": name, "dtype": array.dtype.str, "shape": list(array.shape), "offset": position,
                "crc32c": crc32c(np.ascontiguousarray(array)),
            })  # fmt: skip
            position += -(-array.nbytes // _ALIGNED) * _ALIGNED
        described = {
            "format": self.format,
            "parameters": dict(self.parameters),
            "source": {"size": self.stamp.size, "mtime_ns": self.stamp.mtime_ns, "digest": self.stamp.digest},
            "sections": sections,
        }
        text = json.dumps(described, sort_keys=True).encode()
        text += b" " * (-(_HEAD.size + len(text)) % _ALIGNED)
        beside = f"{path}.{os.urandom(4).hex()}.part"
        try:
            with open(beside, "xb") as file:
                file.write(_HEAD.pack(INDEX_MAGIC, _VERSION, len(text), crc32c(text)))
                file.write(text)
                for array in self.arrays.values():
                    file.write(np.ascontiguousarray(array).data)
                    file.write(b"\0" * (-array.nbytes % _ALIGNED))
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path)
        except BaseException:
            if os.path.exists(beside):
                os.unlink(beside)
            raise

    @classmethod
    def load(cls, path: str) -> Sidecar:
        """Return the index in a file; raise a `DataError` if it is damaged or of another version."""
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            head = file.read(_HEAD.size)
            if len(head) < _HEAD.size or not head.startswith(INDEX_MAGIC):
                raise DataError(f"{path} is not an index file")
            _, version, length, crc = _HEAD.unpack(head)
            if version != _VERSION:
                raise DataError(f"{path} is an index of version {version}; this Penstock reads version {_VERSION}")
            text = file.read(length) if length <= size else b""
        if len(text) != length or crc32c(text) != crc:
            raise DataError(f"{path} is damaged: the checksum of its description does not match")
        try:
            described = json.loads(text)
            content, mapped = _content(path, _HEAD.size + length)
            arrays = {section["name"]: _section(path, section, content) for section in described["sections"]}
            stamp = _stamp(**described["source"])
            return cls(described["format"], dict(described["parameters"]), stamp, arrays, mapped)
        except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{path} is damaged: its description is invalid ({error!r:.100})") from None


def check_mapped(sidecars: Iterable[Sidecar]) -> None:
    """Raise a `DataError` if an index was truncated in place, and bytes after its new end were read."""
    if maps_cut():
        for sidecar in sidecars:
            if sidecar.mapped is not None:
                sidecar.mapped.check()


def _content(path: str, begin: int) -> tuple[NDArray[np.uint8], MappedFile | None]:
    """Return all arrays of an index as bytes: mapped once, since files may be many, or read if small."""
    size = os.path.getsize(path)
    if size - begin > _READ_UP_TO:
        mapped = MappedFile(path)
        return mapped.content[begin:], mapped
    content = np.fromfile(path, np.uint8, offset=begin)
    content.flags.writeable = False
    return content, None


def _stamp(size: Any, mtime_ns: Any, digest: Any) -> Stamp:
    return Stamp(operator.index(size), operator.index(mtime_ns), str(digest))


def _section(path: str, section: dict[str, Any], content: NDArray[np.uint8]) -> NDArray[Any]:
    if not _NUMBERS.fullmatch(section["dtype"]):  # NumPy may raise any error for an invalid dtype
        raise DataError(f"{path} is damaged: {section['name']} is not an array of numbers")
    dtype, shape = np.dtype(section["dtype"]), tuple(map(operator.index, section["shape"]))
    offset, length = operator.index(section["offset"]), math.prod(shape) * dtype.itemsize
    if min((offset, *shape)) < 0 or offset + length > len(content):
        raise DataError(f"{path} is damaged: it was cut short")
    if not length:
        return np.empty(shape, dtype)
    array = content[offset : offset + length].view(dtype).reshape(shape)
    if crc32c(array) != section["crc32c"]:
        raise DataError(f"{path} is damaged: the checksum of {section['name']} does not match")
    return array


def _digest_of(descriptor: int, size: int) -> str:
    return _digest(os.pread(descriptor, count, begin) for begin, count in _samples(size))


def _digest(samples: Iterable[bytes | memoryview]) -> str:
    state = hasher()
    for sample in samples:
        state.update(sample)
    return state.hexdigest()


def _samples(size: int) -> list[tuple[int, int]]:
    """Return the places and sizes of the samples of a file.

    >>> _samples(100), _samples(70000)
    ([(0, 100)], [(0, 65536), (65536, 4464)])
    """
    places = [(0, min(size, _EDGE))]
    if size > 2 * _EDGE:
        places += [(_EDGE + (size - 2 * _EDGE) * sample // _SAMPLES, _SAMPLE) for sample in range(_SAMPLES)]
    if size > _EDGE:
        begin = max(size - _EDGE, _EDGE)
        places.append((begin, size - begin))
    return places
