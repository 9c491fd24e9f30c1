"""A file of what failed: one line of JSON each, appended whole, none twice."""

from __future__ import annotations

import errno
import json
import os
from contextlib import suppress
from typing import Any

from penstock.core.digest import digest

TELLING = ("epoch", "row", "operation", "error", "records")
"""What makes two lines the same; messages and tracebacks may hold addresses in memory."""


class Quarantine:
    """Appends lines to the file at `path`, which is made with the first, unless they are in it already.

    Each is written in one call to the end of the file, so that lines of several processes do not mix.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._known: set[str] | None = None
        self._end = b""  # what the last line that is there lacks, for a process ended while it wrote

    def add(self, line: dict[str, Any]) -> None:
        """Write the line down."""
        if self._known is None:
            self._known = self._read()
        key = _key(line)
        if key in self._known:
            return
        self._known.add(key)
        content, self._end = self._end + json.dumps(line).encode() + b"\n", b""
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            if os.write(file, content) < len(content):
                raise OSError(errno.ENOSPC, "only a part of the line was written", self.path)
        finally:
            os.close(file)

    def _read(self) -> set[str]:
        known = set[str]()
        with suppress(FileNotFoundError), open(self.path, "rb") as file:
            for raw in file:
                self._end = b"" if raw.endswith(b"\n") else b"\n"
                with suppress(ValueError, AttributeError):  # no JSON, or none of ours
                    known.add(_key(json.loads(raw)))
        return known


def _key(line: dict[str, Any]) -> str:
    return digest(json.dumps([line.get(name) for name in TELLING]).encode())
