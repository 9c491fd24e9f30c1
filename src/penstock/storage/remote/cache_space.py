"""The bytes that a cache takes on the disk, counted by all processes of the host together."""

from __future__ import annotations

import fcntl
import os
import struct
import weakref
from collections.abc import Generator
from contextlib import suppress

from penstock.core.contexts import contextmanager
from penstock.storage.remote.cached_file import is_unused

DISK_BLOCK = 4096
"""The bytes that a disk takes at least for any content."""
_COUNTS = struct.Struct("<qq")
_UNDER_WAY = struct.Struct("<q")
_SUFFIX = ".writer"


class SpaceCounts:
    """The bytes that the cache takes, or may once all writes under way are done, and those of writes since a count."""

    def __init__(self, taken: int, since: int | None) -> None:
        self.taken = taken
        self.since = since
        """The bytes of the writes since the last count; `None` if it is time to count."""

    def counted(self, taken: int) -> None:
        """Begin anew from what was found on the disk."""
        self.taken, self.since = taken, 0

    def add(self, size: int) -> None:
        """Count the bytes of a write that begins."""
        self.taken += size
        self.since = None if self.since is None else self.since + size


class CacheSpace:
    """The counts of a cache in a file, and for each process a file with the bytes of its writes under way.

    A process that ends in the middle of a write leaves a file that nobody has locked, which does not count. Where files
    cannot be locked, processes may count each other's writes late.
    """

    def __init__(self, folder: str) -> None:
        """Count in a folder, which need not exist."""
        self.folder = folder
        self._own: int | None = None
        self._under_way = 0

    @contextmanager
    def locked(self) -> Generator[SpaceCounts]:
        """Let no other process count or begin a write, and keep the counts as they are in the end.

        Only one thread of a process may be in it.
        """
        file = self._opened("taken")
        try:
            with suppress(OSError):
                fcntl.flock(file, fcntl.LOCK_EX)
            data = os.pread(file, _COUNTS.size, 0)
            taken, since = _COUNTS.unpack(data) if len(data) == _COUNTS.size else (0, -1)
            counts = SpaceCounts(taken, None if since < 0 else since)
            yield counts
            os.pwrite(file, _COUNTS.pack(counts.taken, -1 if counts.since is None else counts.since), 0)
        finally:
            os.close(file)

    def begin(self, size: int) -> None:
        """Note a write, of at most `size` bytes, before it; call while `locked`."""
        if self._own is None:
            self._own = own = self._opened(name := f"{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}")
            with suppress(OSError):
                fcntl.flock(own, fcntl.LOCK_SH | fcntl.LOCK_NB)
            weakref.finalize(self, _leave, own, os.path.join(self.folder, name), os.getpid())
        self._note(size)

    def end(self, size: int) -> None:
        """Note that a write is done: its bytes are found on the disk. Call from one thread at a time."""
        self._note(-size)

    def under_way(self) -> int:
        """Return the bytes of all writes under way; look at the disk after it, not before."""
        total = 0
        for entry in os.scandir(self.folder):
            if entry.name.endswith(_SUFFIX):
                with suppress(OSError):
                    if is_unused(entry.path):
                        os.unlink(entry.path)
                        continue
                    with open(entry.path, "rb") as file:
                        data = file.read(_UNDER_WAY.size)
                    total += _UNDER_WAY.unpack(data)[0] if len(data) == _UNDER_WAY.size else 0
        return total

    def _note(self, size: int) -> None:
        self._under_way += size
        if self._own is not None:
            os.pwrite(self._own, _UNDER_WAY.pack(self._under_way), 0)

    def _opened(self, name: str) -> int:
        path, how = os.path.join(self.folder, name), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(path, how, 0o600)
        except FileNotFoundError:
            os.makedirs(self.folder, exist_ok=True)
            return os.open(path, how, 0o600)


def most_taken_by(size: int) -> int:
    """Return the most bytes of the disk that a range of `size` bytes takes.

    Its first and last block may be of it alone, and its entry in the journal, a new folder and the list of the blocks
    of the file may take one more each.
    """
    return (-(-size // DISK_BLOCK) + 4) * DISK_BLOCK


def blocks_in(folder: str) -> int:
    """Return the bytes on the disk of a folder and of the files in it; 0 if there is none."""
    total = 0
    with suppress(OSError):
        total += 512 * os.stat(folder).st_blocks
        for entry in os.scandir(folder):
            with suppress(FileNotFoundError):  # deleted by another process
                total += 512 * entry.stat(follow_symlinks=False).st_blocks
    return total


def _leave(file: int, path: str, process: int) -> None:
    os.close(file)
    if process == os.getpid():  # a forked child has only closed its own end
        with suppress(OSError):
            os.unlink(path)
