"""The size and time of a file when it was first looked at, compared later: nobody may write into what is read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

from penstock.core.errors import DataError
from penstock.kernels import MappedFile

_COARSE = 5 if sys.platform == "linux" else time.CLOCK_REALTIME  # the clock by which most file systems note times
_LONGEST_TICK = 20_000_000  # ns


class FileState(NamedTuple):
    """The size of a file, when it was last written to, and which file it is, on which device.

    A process compares the size and the time. Another process may find the same file elsewhere: `again` tells a copy,
    which is another file and may be newer, from one that was written into.
    """

    size: int
    mtime_ns: int
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> FileState:
        """Return the state of a file, such that whatever is written from now on shows in its time."""
        status = os.stat(path)
        while 0 <= status.st_mtime_ns - time.clock_gettime_ns(_COARSE) < _LONGEST_TICK:
            time.sleep(0.0005)  # until that clock goes on: what is written before that gets the same time
            status = os.stat(path)
        return cls(status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)

    def is_of(self, path: str) -> bool:
        """Return whether the file has this size and time still."""
        status = os.stat(path)
        return status.st_size == self.size and status.st_mtime_ns == self.mtime_ns

    def check(self, path: str) -> None:
        """Raise a `DataError` if the file was written to, or is another one by now."""
        status = os.stat(path)
        if status.st_size != self.size:
            raise DataError(
                f"{path}: it had {self.size:,} bytes when the dataset was made, and has {status.st_size:,} now; make "
                f"the dataset again{_RENAME}"
            )
        if status.st_mtime_ns != self.mtime_ns:
            is_same = (status.st_dev, status.st_ino) == (self.device, self.inode)
            what = "written to" if is_same else "replaced by another"
            raise DataError(f"{path}: the file was {what} since the dataset was made; make the dataset again{_RENAME}")

    def check_open(self, path: str) -> None:
        """Do the same for a file that has been held open since: another file at its path is none of its concern."""
        status = os.stat(path)
        if (status.st_dev, status.st_ino) == (self.device, self.inode):
            self.check(path)

    def again(self, path: str) -> FileState:
        """Return the state to compare with in another process: of a copy of as many bytes, its own.

        What cannot be found is said when it is read.
        """
        try:
            now = FileState.of(path)
        except OSError:
            return self
        is_copy = (now.device, now.inode) != (self.device, self.inode) and now.size == self.size
        return now if is_copy else self


_RENAME = ", and write a new file under another name and rename it, instead of writing into a file that is read"


def states_of(paths: Sequence[str]) -> list[FileState]:
    """Return the state of each file."""
    return [FileState.of(path) for path in paths]


def states_again(states: Sequence[FileState], paths: Sequence[str]) -> list[FileState]:
    """Return what each file is compared with in another process."""
    return [state.again(path) for state, path in zip(states, paths, strict=True)]


def mapped_as(path: str, state: FileState) -> MappedFile:
    """Return a file mapped into memory, or raise a `DataError` where it is not in this state any more."""
    mapped = MappedFile(path)
    if (len(mapped.content), mapped.mtime_ns) != (state.size, state.mtime_ns):
        state.check(path)
        mapped.check_unchanged()
    return mapped
