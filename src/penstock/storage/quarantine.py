"""A file of what failed: one line of JSON each, appended whole, none twice."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from contextlib import suppress
from typing import Any

from penstock.core.digest import digest

TELLING = ("epoch", "row", "operation", "error", "records", "part")
"""What makes two lines the same; messages and tracebacks may hold addresses in memory."""


class Quarantine:
    """Appends lines to the file at `path`, which is made with the first, unless they are in it already.

    Each is written in one call to the end of the file, which is locked while it is looked at and written to: neither a
    thread that ends its work nor another process can write the same line meanwhile.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._known = set[str]()
        self._seen = 0  # bytes of the file that have been read
        self._end = b""  # what the last of them lack, for a process ended while it wrote

    def add(self, line: dict[str, Any]) -> None:
        """Write the line down."""
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
                raise OSError(errno.ENOSPC, "only a part of the line was written", self.path)
            self._known.add(key)
            self._seen += len(content)
            self._end = b""
        finally:
            os.close(file)

    def _read(self, file: int) -> None:
        """Take in what others have written since."""
        with open(file, "rb", closefd=False) as opened:
            opened.seek(self._seen)
            for raw in opened:
                self._seen += len(raw)
                self._end = b"" if raw.endswith(b"\n") else b"\n"
                with suppress(ValueError, AttributeError):  # no JSON, or none of ours
                    self._known.add(_key(json.loads(raw)))


def _key(line: dict[str, Any]) -> str:
    return digest(json.dumps([line.get(name) for name in TELLING]).encode())
