"""Read whole local files, several at a time, without the GIL; map files so that truncation is safe."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.kernels import _native

MAKE_AGAIN = (
    "make the dataset again, and write a new file under another name and rename it, instead of writing into a file "
    "that is read"
)
"""The advice about a file that was changed."""
WRITTEN_TO = f"the file was written to since the dataset was made; {MAKE_AGAIN}"
OTHER_SIZE = f"the file had {{then:,}} bytes when the dataset was made, and has {{now:,}} now; {MAKE_AGAIN}"


def read_regular_files(paths: list[str]) -> list[bytes | None]:
    """Return the content of each path that is a regular, readable, non-empty file, and `None` for others.

    The GIL is released twice for up to 64 files; Python's own calls release it four times for each file.

    >>> read_regular_files(["/"])
    [None]
    """
    return _native.read_files(paths)


def advise_files(paths: list[str]) -> None:
    """Ask the system to begin to read each path that is a regular file, without waiting, and without the GIL.

    >>> advise_files(["/", "/nothing/here"])
    """
    _native.advise_files(paths)


def advise_ranges(path: str, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Ask the system to begin to read `path` from `begins[i]` up to `ends[i]`, without waiting, and without the GIL.

    >>> advise_ranges("/nothing/here", np.array([0]), np.array([10]))
    """
    _native.advise_ranges(path, begins, ends)


class MappedFile:
    """A file mapped into memory, read-only, as long as this object or a view of its `content` lives.

    Normally the system ends a process that touches a truncated part of a mapped file. Here that part reads as zeros, a
    line on standard error reports it, and `check()` raises: call it after reading, before using the content. If the
    file was changed, `check_unchanged()` raises. A file that cannot be opened raises an `OSError`.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "file"
    >>> path.write_bytes(b"abc")
    3
    >>> file = MappedFile(str(path))
    >>> file.check()
    >>> file.content.tobytes()
    b'abc'
    """

    __slots__ = ("_name", "_native", "content", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self._name = os.fsencode(path)
        self._native: Any = _native.LastingMap(self._name)
        if self._native.error:
            raise OSError(self._native.error, os.strerror(self._native.error), path)
        self.content: NDArray[np.uint8] = np.frombuffer(self._native, np.uint8)

    @property
    def mtime_ns(self) -> int:
        """The time of the file's last change when mapped, in ns."""
        return self._native.mtime

    def check(self) -> None:
        """Raise a `DataError` if a truncated part was read."""
        if self._native.is_cut:
            raise DataError(
                f"{self.path}: the file was cut short, or became unreadable, while mapped; make the dataset again"
            )

    def check_unchanged(self) -> None:
        """Raise a `DataError` if the file was truncated or changed since it was mapped, whatever parts were read.

        If another file has taken its path, the mapped content stays as it was.
        """
        self.check()
        if not self._native.is_unchanged(self._name):
            raise DataError(f"{self.path}: {WRITTEN_TO}")


def maps_cut() -> int:
    """Return the number of mapped files read in a truncated part: while it is 0, no `check()` is needed.

    >>> maps_cut() >= 0
    True
    """
    return _native.cuts()
