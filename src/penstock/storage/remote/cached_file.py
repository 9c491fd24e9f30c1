"""One object on the local disk: a sparse file with the ranges that were fetched, and a journal of them at its end."""

from __future__ import annotations

import errno
import fcntl
import os
import struct
import threading
import weakref
from bisect import bisect_right
from contextlib import suppress
from typing import TypeAlias

from penstock.kernels.records import crc32c

_ENTRY = struct.Struct("<QQII8x")  # begin, end, CRC-32C of the content, CRC-32C of the entry before it
_NUMBERS = struct.Struct("<QQI")
_OVERLAPPING = 8  # earlier ranges that may reach further than the last one

_Range: TypeAlias = tuple[int, int, int]  # begin, end, CRC-32C


class CachedFile:
    """The kept ranges of an object of `size` bytes.

    Bytes of the object are at their own places of the file; entries of 32 bytes follow, appended after the bytes that
    they tell of. A range counts only if its entry is whole, and its bytes match the checksum of the entry when first
    read by a process: so neither a crash nor a hole shows as data. Another process may delete the file at any time: who
    has opened it can still read.

    The file is locked (shared) while it is open, so that who makes room can tell which files are in use.
    """

    def __init__(self, path: str, size: int) -> None:
        """Open the file, or make it; raise an `OSError` if that fails."""
        self.path = path
        self._size = size
        self._lock = threading.Lock()
        self._ranges: list[_Range] = []  # known ones, sorted
        self._sound: set[tuple[int, int]] = set()
        self._at = size  # the end of the entries read so far
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._journal = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError:
            os.close(self._file)
            raise
        weakref.finalize(self, _close, self._file, self._journal)
        with suppress(OSError):  # file systems without locks: files in use may be deleted, which costs a second fetch
            fcntl.flock(self._file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if (found := os.fstat(self._file).st_size) < size:
            os.ftruncate(self._file, size)
        elif torn := (found - size) % _ENTRY.size:  # an entry that a crash left incomplete: entries after it are whole
            os.write(self._journal, bytes(_ENTRY.size - torn))
        with suppress(OSError):
            os.utime(self._file)  # the time of the last use
        self._load()

    def covers(self, begin: int, end: int) -> bool:
        """Return whether all bytes of a range are here."""
        return self._known(begin, end) is not None

    def read(self, begin: int, end: int) -> bytes | None:
        """Return the bytes of a range; `None` if some are missing or damaged."""
        parts = self._known(begin, end)
        if parts is None:
            return None
        for part in parts:
            if part[:2] not in self._sound and not self._is_sound(part):
                return None
        content = os.pread(self._file, end - begin, begin)
        return content if len(content) == end - begin else None

    def write(self, begin: int, content: memoryview) -> None:
        """Keep a range; raise an `OSError` if there is no room."""
        end, at = begin + len(content), 0
        while at < len(content):
            at += os.pwrite(self._file, content[at:], begin + at)
        checksum = crc32c(content)
        numbers = _NUMBERS.pack(begin, end, checksum)
        entry = _ENTRY.pack(*_NUMBERS.unpack(numbers), crc32c(numbers))
        if os.write(self._journal, entry) != len(entry):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)
        with self._lock:
            self._add((begin, end, checksum))
            self._sound.add((begin, end))

    def _known(self, begin: int, end: int) -> list[_Range] | None:
        """Return ranges, written by any process, that cover a range together, or `None`."""
        with self._lock:
            parts = self._parts(begin, end)
            if parts is None and os.fstat(self._file).st_size >= self._at + _ENTRY.size:
                self._load()  # written by others since
                parts = self._parts(begin, end)
            return parts

    def _parts(self, begin: int, end: int) -> list[_Range] | None:
        """Return known ranges that cover a range together, or `None`."""
        found: list[_Range] = []
        at = begin
        while at < end:
            last = bisect_right(self._ranges, (at, self._size + 1, 0)) - 1
            near = self._ranges[max(last - _OVERLAPPING, 0) : last + 1]
            part = max(near, key=lambda each: each[1], default=None)
            if part is None or part[1] <= at:
                return None
            found.append(part)
            at = part[1]
        return found

    def _load(self) -> None:
        """Read the entries that were appended since the last look."""
        data = os.pread(self._file, max(os.fstat(self._file).st_size - self._at, 0), self._at)
        for at in range(0, len(data) - _ENTRY.size + 1, _ENTRY.size):
            begin, end, checksum, of_entry = _ENTRY.unpack_from(data, at)
            self._at += _ENTRY.size
            if crc32c(data[at : at + _NUMBERS.size]) == of_entry and 0 <= begin < end <= self._size:
                self._add((begin, end, checksum))

    def _add(self, part: _Range) -> None:
        place = bisect_right(self._ranges, part)
        if place == 0 or self._ranges[place - 1] != part:
            self._ranges.insert(place, part)

    def _is_sound(self, part: _Range) -> bool:
        begin, end, checksum = part
        content = os.pread(self._file, end - begin, begin)
        with self._lock:
            if len(content) == end - begin and crc32c(content) == checksum:
                self._sound.add((begin, end))
                return True
            if part in self._ranges:
                self._ranges.remove(part)
            return False


def _close(*descriptors: int) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def is_unused(path: str) -> bool:
    """Return whether no process has a lock on a file of the cache, as all that use it do."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True
