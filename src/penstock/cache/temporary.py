"""A folder for elements on disk that lasts no longer than the process that made it."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import weakref
from contextlib import suppress

from penstock.cache.growth import is_in_memory
from penstock.core.errors import CacheWarning
from penstock.core.frames import CodeLine, warn_at

_PREFIX = "penstock-spill-"


class TemporaryFolder:
    """A new folder on disk, locked by this process, and removed with this object or at the end of the process.

    The lock ends with the process, however that ends: if the process was killed, the next `TemporaryFolder` there finds
    the folder without a lock, and removes it.

    >>> folder = TemporaryFolder()
    >>> os.path.isdir(folder.path)
    True
    >>> path = folder.path
    >>> del folder
    >>> os.path.exists(path)
    False
    """

    def __init__(self, parent: str | None = None, at: CodeLine | None = None) -> None:
        """Make the folder in `parent`; by default in the system's folder for temporary files that is on a disk.

        If there is none on a disk, a `CacheWarning` about the line `at` says so.
        """
        parent = _on_disk(at) if parent is None else parent
        remove_abandoned(parent)
        self.path, lock = _made(parent)
        self._remove = weakref.finalize(self, _removed, self.path, lock, os.getpid())


def remove_abandoned(parent: str) -> None:
    """Remove the folders in `parent` whose processes have ended."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with suppress(OSError):  # of another user, removed meanwhile, or on a file system without locks
                    _removed(entry.path, _locked(entry.path), os.getpid())


def _made(parent: str) -> tuple[str, int | None]:
    """Return a new folder, and the descriptor that locks it, if the file system has locks."""
    while True:
        path = tempfile.mkdtemp(prefix=_PREFIX, dir=parent)
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


def _on_disk(at: CodeLine | None) -> str:
    """Return a folder for temporary files that is not in memory, if there is one."""
    first = tempfile.gettempdir()
    places = (first, "/var/tmp")  # noqa: S108 - the folder made there has a name that nobody can guess
    found = [place for place in places if os.access(place, os.W_OK) and not is_in_memory(place)]
    if not found:
        sentence = (
            f"cache(spill=True): {first} lies in memory, so what is spilled there takes memory; pass spill= the path "
            "of a folder on a disk, or set TMPDIR"
        )
        warn_at(at, CacheWarning(sentence))
    return found[0] if found else first
