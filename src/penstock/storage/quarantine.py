"""A file of failed elements: one line of JSON each, appended whole, without duplicates."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import suppress
from typing import Any

from penstock.core.digest import digest

TELLING = ("epoch", "row", "operation", "error", "records", "part")
"""The fields that identify a line; messages and tracebacks may contain memory addresses."""


class Quarantine:
    """A writer that appends new lines to the file at `path`, which is created with the first line.

    Each line is written to the end of the file in one call. The file is locked while it is checked and written, so that
    no other thread or process can write the same line at the same time.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._known = set[str]()
        self._seen = 0  # bytes of the file that have been read
        self._end = b""  # the missing line end, if a process ended while writing

    def add(self, line: dict[str, Any]) -> None:
        """Append the line if it is new."""
        key = _key(line)
        if key in self._known:
            return
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            self._read(file)
            if key in self._known:
                return
            content = self._end + json.dumps(line).encode() + b"\n"
            if os.write(file, content) < len(content):
                raise OSError(errno.ENOSPC, "the line was written only in part", self.path)
            self._known.add(key)
            self._seen += len(content)
            self._end = b""
        finally:
            os.close(file)

    def _read(self, file: int) -> None:
        """Read the lines that others have written since."""
        with open(file, "rb", closefd=False) as opened:
            opened.seek(self._seen)
            for raw in opened:
                self._seen += len(raw)
                self._end = b"" if raw.endswith(b"\n") else b"\n"
                with suppress(ValueError, AttributeError):  # not JSON, or of another form
                    self._known.add(_key(json.loads(raw)))


def _key(line: dict[str, Any]) -> str:
    return digest(json.dumps([line.get(name) for name in TELLING]).encode())
