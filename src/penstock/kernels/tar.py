"""Scans of tar archives: the places of members' contents, and the members of each sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import chain
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.kernels import _native
from penstock.kernels.records import ScanError

MEMBERS_AT_ONCE = 1 << 14
_NAMES_AT_ONCE = 1 << 20  # bytes
_SKIPPED = ("links", "devices and pipes", "members of unknown types")
MOST_EXTENSIONS = 4096

_Scan: TypeAlias = Callable[[int, tuple[NDArray[Any], ...]], tuple[int, int, int, int, int]]


class _Status(IntEnum):
    MORE = 0
    END = 1
    TRUNCATED = 2
    SHORT = 3
    BAD_HEADER = 4
    BAD_SIZE = 5
    BAD_EXTENSION = 6
    BAD_NAME = 7
    SPARSE = 8
    PARTED = 9
    GLOBAL_HEADER = 10
    ZEROED = 11
    NO_END = 12


_REASONS = {
    _Status.TRUNCATED: "the file was cut short, or became unreadable, while it was read",
    _Status.SHORT: "the archive ends inside it: it was cut short, or is still being written",
    _Status.BAD_HEADER: "there is no member header with a valid checksum: it is not a tar archive, or damaged from "
    "here on",
    _Status.BAD_SIZE: "its size is not a valid number",
    _Status.BAD_EXTENSION: "its extended header (pax) is damaged",
    _Status.BAD_NAME: "it has no name, or a name with a zero byte or of more than 64 KiB",
    _Status.SPARSE: "it is sparse: its content is not stored as it is; write it again without --sparse",
    _Status.PARTED: "it is a part of a file that continues in another archive; write them again without --multi-volume",
    _Status.GLOBAL_HEADER: "a global header (pax) gives all following members one name or size",
    _Status.ZEROED: "there are zeros, and more members after them: a part of the archive was overwritten, or archives "
    "were joined that are not filled up to 10 KiB; extract what is whole, and write it again",
    _Status.NO_END: "the archive ends without the zeros that mark its end: it was cut short, or is still being "
    "written; where it is whole, `truncate --size=+1024` adds them",
}


@frozen()
class Samples:
    """Members of an archive that belong to samples, sample by sample.

    Member i lies from `begins[i]` to `ends[i]`, and has the extension `extensions[extension[i]]`. Sample k has the
    members `members[k]` to `members[k + 1]`; its key ends at `key_ends[k]` of `keys`, where the next begins. `heads`
    are the begins of the members' headers, and `skipped` counts links, devices and others.
    """

    heads: Rows
    begins: Rows
    ends: Rows
    extension: NDArray[np.int32]
    members: Rows
    keys: NDArray[np.uint8]
    key_ends: Rows
    extensions: list[str]
    skipped: Rows

    def __len__(self) -> int:
        return len(self.key_ends)

    def without_last(self) -> Samples:
        """Return all samples but the last, which may continue in the unreadable part."""
        if not len(self):
            return self
        samples = len(self) - 1
        members = int(self.members[samples])
        return Samples(
            self.heads[:members],
            self.begins[:members],
            self.ends[:members],
            self.extension[:members],
            self.members[: samples + 1],
            self.keys[: int(self.key_ends[samples - 1]) if samples else 0],
            self.key_ends[:samples],
            self.extensions,
            self.skipped,
        )

    def key(self, sample: int) -> str:
        """Return the key of a sample."""
        begin = int(self.key_ends[sample - 1]) if sample else 0
        return str(self.keys[begin : int(self.key_ends[sample])].data, "utf-8", "surrogateescape")


NO_SAMPLES = Samples(
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int64),
    np.empty(0, np.int32),
    np.zeros(1, np.int64),
    np.empty(0, np.uint8),
    np.empty(0, np.int64),
    [],
    np.zeros(3, np.int64),
)


class TarError(ScanError):
    """An archive that cannot be scanned to its end; `samples` are the whole ones before."""

    samples: Samples = NO_SAMPLES


class SamplesOfArchives:
    """The samples of some archives by row: their keys, and their members for the parts of an element.

    Row r is sample `r - starts[a]` of archive a, the last with `starts[a] <= r`; without `starts`, rows are
    consecutive. Part p of an element is the file with the first of the extensions `parts[p]` that a sample has. A row
    without a sample raises an `IndexError`. What is missing in a truncated index has an empty key, or no members.
    """

    def __init__(self, archives: Sequence[Samples], parts: Sequence[Sequence[str]], starts: Rows | None = None) -> None:
        numbers = {extension: number for number, extension in enumerate(dict.fromkeys(chain.from_iterable(parts)))}
        if starts is None:
            starts = np.cumsum([0, *map(len, archives)])
        self._parts = len(parts)
        self._native = _native.TarSamples(
            [
                (
                    samples.keys,
                    samples.key_ends,
                    samples.members,
                    samples.extension,
                    np.array([numbers.get(extension, -1) for extension in samples.extensions], np.int32),
                )
                for samples in archives
            ],
            starts.tolist(),
            [[numbers[extension] for extension in extensions] for extensions in parts],
        )

    def keys(self, rows: Rows) -> list[str]:
        """Return the keys of the samples at `rows`."""
        return self._native.keys(rows)

    def members(self, rows: Rows) -> tuple[NDArray[np.int64], int]:
        """Return the members of samples, numbered across all archives, and how many are missing.

        The members have shape (k, parts), and -1 if missing.
        """
        members = np.empty((len(rows), self._parts), np.int64)
        return members, self._native.members(rows, members)


def _text_of(name: bytes) -> str:
    """Return a name as text, with invalid UTF-8 escaped as in Python's file names.

    >>> _text_of("café".encode())
    'café'
    """
    return name.decode("utf-8", "surrogateescape")


def skipped_in_words(skipped: Rows) -> str:
    """Return a description of skipped members, or an empty text.

    >>> skipped_in_words(np.array([2, 0, 1]))
    '2 links and 1 members of unknown types are skipped'
    """
    told = [f"{count} {kind}" for count, kind in zip(skipped.tolist(), _SKIPPED, strict=True) if count]
    return f"{' and '.join(told)} are skipped" if told else ""


def scan_tar(path: str, *, seen: Callable[[int], None] | None = None) -> Samples:
    """Return the samples of an uncompressed archive; `seen` is called with each position reached.

    A damaged archive, or one with unsupported members (sparse files), raises a `DataError` that names the member and
    its offset.
    """
    scanner = _native.TarScanner(os.fsencode(path))
    if scanner.error:
        raise OSError(scanner.error, os.strerror(scanner.error), path)
    samples, status, (position, _, name) = _scan(scanner.scan, path, seen)
    if status != _Status.END:
        failure = TarError(str(_failure(path, status, position, name)))
        failure.samples = samples.without_last()
        raise failure
    return samples


def scan_tar_bytes(data: bytes, path: str, *, whole: bool, offset: int = 0) -> tuple[Samples, int, DataError | None]:
    """Return the samples of a part of an archive, the number of missing bytes of its next member, and its error.

    The part begins with a header, at `offset` of the archive. Unless `whole`, it may end anywhere, and its last sample
    may continue after it.
    """

    def scan(position: int, arrays: tuple[NDArray[Any], ...]) -> tuple[int, int, int, int, int]:
        return _native.scan_tar(data, whole, position, arrays, offset)

    samples, status, (position, needed, name) = _scan(scan, path, None, offset)
    if status == _Status.SHORT and not whole:
        return samples, max(needed - len(data), 0), None
    return samples, 0, None if status == _Status.END else _failure(path, status, offset + position, name)


def _scan(
    scan: _Scan, path: str, seen: Callable[[int], None] | None, offset: int = 0
) -> tuple[Samples, int, tuple[int, int, bytes]]:
    gathered = _Gathered(path, offset)
    heads, begins, ends, name_ends = (np.empty(MEMBERS_AT_ONCE, np.int64) for _ in range(4))
    names, skipped = np.empty(_NAMES_AT_ONCE, np.uint8), np.zeros(3, np.int64)
    arrays = (heads, begins, ends, name_ends, names, skipped)
    position = needed = 0
    status, name = int(_Status.MORE), b""
    while status == _Status.MORE:
        status, count, position, needed, size = scan(position, arrays)
        gathered.add(heads[:count], begins[:count], ends[:count], name_ends[:count], names)
        named = int(name_ends[count - 1]) if count else 0
        name = names[named : named + size].tobytes()
        if seen is not None:
            seen(position)
    return gathered.samples(skipped), status, (position, needed, name)


class _Gathered:
    """A collector of the results of the steps of a scan."""

    def __init__(self, path: str, offset: int) -> None:
        self._path = path
        self._offset = offset
        self._groups = _native.TarGroups()
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._keys_end = 0

    def add(self, heads: Rows, begins: Rows, ends: Rows, name_ends: Rows, names: NDArray[np.uint8]) -> None:
        count = len(heads)
        extension, begins_sample = np.empty(count, np.int32), np.empty(count, np.bool_)
        keys, key_ends = np.empty(int(name_ends[-1]) if count else 0, np.uint8), np.empty(count, np.int64)
        status, failed = self._groups.add(names, name_ends, extension, begins_sample, keys, key_ends)
        if status:
            begin = int(name_ends[failed - 1]) if failed else 0
            self._refuse(status, names[begin : int(name_ends[failed])].tobytes(), self._offset + int(heads[failed]))
        kept = extension >= 0
        fresh = begins_sample[kept]
        key_ends = key_ends[: int(np.count_nonzero(fresh))] + self._keys_end
        if len(key_ends):
            keys = keys[: int(key_ends[-1]) - self._keys_end].copy()
            self._keys_end = int(key_ends[-1])
        else:
            keys = keys[:0]
        self._parts.append((heads[kept], begins[kept], ends[kept], extension[kept], fresh, keys, key_ends))

    def samples(self, skipped: Rows) -> Samples:
        heads, begins, ends, extension, fresh, keys, key_ends = (
            np.concatenate(part) for part in zip(*self._parts, strict=True)
        )
        members = np.append(np.flatnonzero(fresh), len(fresh))
        names = [_text_of(name) for name in self._groups.extensions]
        return Samples(heads, begins, ends, extension, members, keys, key_ends, names, skipped)

    def _refuse(self, status: int, name: bytes, position: int) -> NoReturn:
        where = f"{self._path}: {_text_of(name)!r}, at byte {position}"
        if status == 1:
            raise DataError(f"{where}: the sample already has a file of that extension; each may occur once")
        raise DataError(
            f"{where}: there are more than {MOST_EXTENSIONS} extensions. A file name has the sample's key before "
            "its first dot, and the extension after it: rename the files accordingly"
        )


def _failure(path: str, status: int, position: int, name: bytes) -> DataError:
    if status in (_Status.ZEROED, _Status.NO_END):
        return DataError(f"{path}, at byte {position}: {_REASONS[_Status(status)]}")
    member = f"{_text_of(name)!r}" if name else "the member"
    return DataError(f"{path}: {member}, at byte {position}: {_REASONS[_Status(status)]}")
