"""The order in which the runs of a host will read objects, told by each run in a file, for the cache of the host."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.storage.remote.cached_file import is_unused

_SUFFIX = ".order"
USE = np.dtype([("name", "S32"), ("next", "<f8"), ("again", "<f8")])
"""The name of an object in the cache, with the times of `NextUse`."""
_FRESH = 1.0  # seconds for which what was read from the files counts
_OLD = 3600.0  # seconds after which an order that nobody renews does not count


class NextUse(NamedTuple):
    """The times, as of `time.time()`, at which an object is read next, and in the next epoch.

    What is read now is read again in the next epoch; other parts of the object may be read before.
    """

    next: float
    again: float


class ToldOrder:
    """The order of one run as a file below the folder of a cache, which others believe as long as it is open here."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "orders")
        self._path = os.path.join(self._folder, f"{os.getpid()}-{os.urandom(4).hex()}{_SUFFIX}")
        self._file: int | None = None

    def tell(self, uses: NDArray[Any]) -> None:
        """Replace what was told before by `USE[k]`; a folder that cannot be written is not an error."""
        new = f"{self._path}.new"
        with suppress(OSError):
            os.makedirs(self._folder, exist_ok=True)
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            before, self._file = self._file, file
            if before is not None:
                os.close(before)
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            os.write(file, uses.tobytes())
            os.replace(new, self._path)

    def close(self) -> None:
        """Take back what was told."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)
            with suppress(OSError):
                os.unlink(self._path)


class ToldOrders:
    """The orders that all runs of the host have told for a folder."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, "orders")
        self._known: dict[str, NextUse] = {}
        self._read_at = 0.0

    def uses(self) -> Mapping[str, NextUse]:
        """Return the earliest next use of each object, of all runs that are under way."""
        now = time.time()
        if not 0 <= now - self._read_at < _FRESH:
            self._read_at, self._known = now, self._read(now)
        return self._known

    def _read(self, now: float) -> dict[str, NextUse]:
        found: dict[str, NextUse] = {}
        for path in _files(self.folder):
            with suppress(OSError):
                if _is_over(path, now):
                    os.unlink(path)
                    continue
                with open(path, "rb") as file:
                    data = file.read()
                for entry in np.frombuffer(data[: len(data) // USE.itemsize * USE.itemsize], USE).tolist():
                    name, use = entry[0].decode("ascii", "replace"), NextUse(*entry[1:])
                    before = found.get(name, use)
                    found[name] = NextUse(min(use.next, before.next), min(use.again, before.again))
        return found


def _files(folder: str) -> Iterable[str]:
    try:
        return [entry.path for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX)]
    except OSError:
        return []


def _is_over(path: str, now: float) -> bool:
    """Return whether the run that told an order has ended, however it ended."""
    return now - os.stat(path).st_mtime > _OLD or is_unused(path)
