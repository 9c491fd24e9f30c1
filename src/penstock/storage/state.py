"""The size and time of a file at first sight, compared later: a file must not change while it is read."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, cast

from penstock.core.errors import DataError
from penstock.kernels import MappedFile
from penstock.kernels.files import MAKE_AGAIN, OTHER_SIZE, WRITTEN_TO
from penstock.storage.remote.file import RemoteFile

_COARSE = 5 if sys.platform == "linux" else time.CLOCK_REALTIME  # the clock of most file systems
_LONGEST_TICK = 20_000_000  # ns


class FileState(NamedTuple):
    """The size of a file, the time of its last change, and its identity (inode and device).

    A process compares the size and the time. Another process may find a copy at the path: `again` distinguishes a copy,
    which is another file and may be newer, from a changed file.
    """

    size: int
    mtime_ns: int
    device: int
    inode: int

    @classmethod
    def of(cls, path: str) -> FileState:
        """Return the state of a file, such that any later write changes its time."""
        if isinstance(path, RemoteFile):
            return RemoteState(path.size, 0, 0, 0)
        status = os.stat(path)
        while 0 <= status.st_mtime_ns - time.clock_gettime_ns(_COARSE) < _LONGEST_TICK:
            time.sleep(0.0005)  # until that clock ticks: an earlier write would get the same time
            status = os.stat(path)
        return cls(status.st_size, status.st_mtime_ns, status.st_dev, status.st_ino)

    def is_of(self, path: str) -> bool:
        """Return whether the file still has this size and time."""
        status = os.stat(path)
        return status.st_size == self.size and status.st_mtime_ns == self.mtime_ns

    def check(self, path: str) -> None:
        """Raise a `DataError` if the file was changed or replaced."""
        status = os.stat(path)
        if status.st_size != self.size:
            raise DataError(f"{path}: {OTHER_SIZE.format(then=self.size, now=status.st_size)}")
        if status.st_mtime_ns != self.mtime_ns:
            is_same = (status.st_dev, status.st_ino) == (self.device, self.inode)
            raise DataError(f"{path}: {WRITTEN_TO if is_same else _REPLACED}")

    def check_open(self, path: str) -> None:
        """Raise a `DataError` if a file held open was changed, whatever file is now at its path."""
        status = os.stat(path)
        if (status.st_dev, status.st_ino) == (self.device, self.inode):
            self.check(path)

    def again(self, path: str) -> FileState:
        """Return the state to compare with in another process: for a copy of the same size, that of the copy.

        A missing file raises its error when it is read.
        """
        try:
            now = FileState.of(path)
        except OSError:
            return self
        is_copy = (now.device, now.inode) != (self.device, self.inode) and now.size == self.size
        return now if is_copy else self


class RemoteState(FileState):
    """The state of a remote object, whose tag is checked by every request: nothing else has to be compared."""

    def is_of(self, path: str) -> bool:
        return True

    def check(self, path: str) -> None:
        """Do nothing."""

    def check_open(self, path: str) -> None:
        """Do nothing."""

    def again(self, path: str) -> FileState:
        return self


_REPLACED = f"the file was replaced by another since the dataset was made; {MAKE_AGAIN}"


def states_of(paths: Sequence[str]) -> list[FileState]:
    """Return the state of each file."""
    return [FileState.of(path) for path in paths]


class OpenedAgain:
    """A dataclass with the `paths` and `states` of files, which another process opens again, or copies of them.

    It is pickled as its fields alone. The state of a folder is `None`.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        told = {part.name: self.__dict__[part.name] for part in fields(cast("Any", self)) if part.init}
        return _opened_again, (type(self), told)


def _opened_again(files: Callable[..., Any], told: dict[str, Any]) -> Any:
    states = [state and state.again(path) for state, path in zip(told["states"], told["paths"], strict=True)]
    return files(**{**told, "states": states})


def mapped_as(path: str, state: FileState) -> MappedFile:
    """Return a file mapped into memory; raise a `DataError` if it is no longer in this state."""
    mapped = MappedFile(path)
    if (len(mapped.content), mapped.mtime_ns) != (state.size, state.mtime_ns):
        state.check(path)
        mapped.check_unchanged()
    return mapped
