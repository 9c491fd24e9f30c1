"""A trace file in the JSON format of Chrome and Perfetto, which is readable at any moment while it grows."""

from __future__ import annotations

import logging
import os
import zlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from penstock.core.shown import without_credentials

FAST = 1  # level of compression; more would take more time than all else about an event
GZIP = 31  # window bits of zlib for a whole gzip member
ARRAY_END = "\n]\n"


class GrowingFile:
    """A JSON array in a file, packed as gzip if the name ends with `.gz`, to which events are added.

    The end of the array is written with each addition, and overwritten by the next, so that the file is whole even if
    the process is killed; a packed file is one gzip member, whose checksum is in that end. A file that cannot be
    written is said in the log once, and `failed`; what was written before remains.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.failed = ""
        """The reason why nothing more is written, in words."""
        self._packer = zlib.compressobj(FAST, wbits=GZIP) if self.path.lower().endswith(".gz") else None
        self._length = 0  # bytes of the events
        self._end = b""  # the bytes after them
        self._begun = False
        self._file: Any = None
        try:
            self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115 - closed by `close`
            self._append("[")
        except OSError as error:
            self._fail(error)

    def add(self, events: Iterable[str]) -> None:
        """Append events, each a JSON object as text, unless the file has failed."""
        text = ",\n".join(events)
        if self._file is None or not text:
            return
        try:
            self._append((",\n" if self._begun else "\n") + text)
            self._begun = True
        except OSError as error:
            self._fail(error)

    def close(self) -> None:
        """Close the file."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def stop(self, why: str) -> None:
        """Write nothing more, and say why in the log."""
        self.failed = why
        logging.getLogger("penstock").warning("%s", self.failed)
        with suppress(OSError):
            self.close()

    def _fail(self, error: OSError) -> None:
        self.stop(f"the trace {self.path} cannot be written, and the run goes on without it: {error}")

    def _append(self, text: str) -> None:
        """Write text over the end, and a new end after it; on failure, restore the end."""
        data, end = without_credentials(text).encode(), ARRAY_END.encode()
        if self._packer is not None:
            data = self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)
            last = self._packer.copy()
            end = last.compress(end) + last.flush()
        try:
            self._write(data + end)
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._length)
                self._write(self._end)
            raise
        self._length += len(data)
        self._end = end

    def _write(self, data: bytes) -> None:
        self._file.seek(self._length)
        left = memoryview(data)
        while left:
            left = left[self._file.write(left) :]
