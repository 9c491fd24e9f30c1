"""Whole local files, several at a time, read without the GIL; and mapped, so that they may be cut short."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.kernels import _native


def read_regular_files(paths: list[str]) -> list[bytes | None]:
    """Return the content of each path that is a regular, readable, non-empty file, and `None` for others.

    The GIL is let go twice for up to 64 files, where Python's own calls would let it go four times for each.

    >>> read_regular_files(["/"])
    [None]
    """
    return _native.read_files(paths)


def advise_files(paths: list[str]) -> None:
    """Have the system begin to read each path that is a regular file, without waiting for it, nor for the GIL.

    >>> advise_files(["/", "/nothing/here"])
    """
    _native.advise_files(paths)


def advise_ranges(path: str, begins: NDArray[np.int64], ends: NDArray[np.int64]) -> None:
    """Have the system begin to read `path` from `begins[i]` up to `ends[i]`, without waiting for it, nor for the GIL.

    >>> advise_ranges("/nothing/here", np.array([0]), np.array([10]))
    """
    _native.advise_ranges(path, begins, ends)


class MappedFile:
    """A file mapped into memory, read-only, for as long as this or a view of its `content` lives.

    Where the file is cut short meanwhile, the system ends a process that touches what is gone. Here that is zeros from
    then on, a line on standard error says so, and `check()` is an error: to be asked for after reading, before what was
    read is believed. Where somebody has written into the file, `check_unchanged()` is one. A file that cannot be opened
    is an `OSError`.

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
        """When the file had last been written to as it was mapped."""
        return self._native.mtime

    def check(self) -> None:
        """Raise a `DataError` if something was read that is not there any more."""
        if self._native.is_cut:
            raise DataError(
                f"{self.path}: the file was cut short, or could not be read any more, while it was mapped; make the "
                "dataset again"
            )

    def check_unchanged(self) -> None:
        """Raise a `DataError` if the file was cut short or written to since it was mapped, whatever was read of it.

        Where another file has taken its path, what is mapped stays as it was.
        """
        self.check()
        if not self._native.is_unchanged(self._name):
            raise DataError(
                f"{self.path}: the file was written to while it was mapped; make the dataset again, and write a new "
                "file under another name and rename it, in place of writing into one that is read"
            )


def maps_cut() -> int:
    """Return how many mapped files were read behind an end that they have lost: while it is 0, no `check()` is needed.

    >>> maps_cut() >= 0
    True
    """
    return _native.cuts()
