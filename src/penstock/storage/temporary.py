"""Folders for files that last no longer than the process that makes them."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress


class LockedFolder:
    """A new folder, locked by this process, and removed with this object or at the end of the process.

    The lock ends with the process, however that ends: if the process was killed, the next folder with this prefix in
    the same `parent` finds the other one without a lock, and removes it.

    >>> with LockedFolder(tempfile.gettempdir(), "penstock-doctest-") as path:
    ...     os.path.isdir(path)
    True
    >>> os.path.exists(path)
    False
    """

    def __init__(self, parent: str, prefix: str) -> None:
        remove_abandoned(parent, prefix)
        self.path, lock = _made(parent, prefix)
        self.remove = weakref.finalize(self, _removed, self.path, lock, os.getpid())

    def __enter__(self) -> str:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def remove_abandoned(parent: str, prefix: str) -> None:
    """Remove the folders in `parent` with this prefix whose processes have ended."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(prefix):
                with suppress(OSError):  # of another user, removed meanwhile, or on a file system without locks
                    _removed(entry.path, _locked(entry.path), os.getpid())


def _made(parent: str, prefix: str) -> tuple[str, int | None]:
    """Return a new folder, and the descriptor that locks it, if the file system has locks."""
    while True:
        path = tempfile.mkdtemp(prefix=prefix, dir=parent)
        try:
            return path, _locked(path)
        except (BlockingIOError, FileNotFoundError):  # another process takes it for abandoned
            continue
        except OSError:
            return path, None


def _locked(path: str) -> int:
    """Return a descriptor that locks a folder; raise a `BlockingIOError` if another has the lock."""
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(path)  # it may have been removed by the process that had the lock
    except OSError:
        os.close(lock)
        raise
    return lock


def _removed(path: str, lock: int | None, process: int) -> None:
    """Remove a folder, and unlock it last; in the child of a fork, leave it to the parent."""
    if process == os.getpid():
        shutil.rmtree(path, ignore_errors=True)
    if lock is not None:
        os.close(lock)
