"""The growth of a cache on disk, and the reasons why it ends."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from penstock.cache.folder import bytes_in
from penstock.cache.logs import Logs, RowLog
from penstock.cache.packing import PackedRows
from penstock.cache.writing import LogWriter
from penstock.core.arrays import Rows
from penstock.kernels.cached_rows import LOG_RECORD

_LEFT_FREE = (1 << 30, 0.02)  # bytes that stay free on the disk, or this part of it if that is less
_NO_ROOM = {errno.ENOSPC: "the disk is full", errno.EDQUOT: "the quota is used up", errno.EFBIG: "a file may not grow"}
_IN_MEMORY = ("tmpfs", "ramfs", "devtmpfs")


class Growth:
    """Writes rows to the files of one process, until something stops it: then `stopped` says what, and `tell` got it.

    `prepare` makes the folder of the key, when the first files are needed, and returns it.
    """

    def __init__(
        self,
        folder: str,
        logs: Logs,
        prepare: Callable[[], str],
        tell: Callable[[str], None],
        limit_bytes: int | None,
    ) -> None:
        self._folder = folder
        self._logs = logs
        self._prepare = prepare
        self._tell = tell
        self._limit = limit_bytes
        self._others = -1  # bytes in the folder that this process has not written since; -1: not looked at yet
        self._writer: LogWriter | None = None
        self._log: RowLog | None = None
        self.stopped: str | None = None
        """The sentence that says why nothing more is written."""

    def look(self) -> None:
        """Look at how many bytes the folder has."""
        if self._limit is not None:
            self._others = bytes_in(self._folder) - (0 if self._writer is None else self._writer.bytes)

    def add(self, packed: PackedRows, rows: Rows) -> int:
        """Write rows, `int64[k]`, and enter them into the table; return how many there was room for."""
        try:
            if self._writer is None or self._writer.is_full or self._writer.is_removed:
                self._begin()
            writer, log = self._writer, self._log
            if writer is None or log is None:
                return 0
            packed, reason = self._fitting(packed, writer)
            if len(packed.which):
                self._logs.add(log, writer.define(packed.form, log))
                self._logs.add(log, writer.write(packed, rows[: len(packed.which)]))
            if reason is not None:
                self.stop(reason)
            return len(packed.which)
        except OSError as error:
            self.fail(error)
            return 0

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        if self._writer is not None:
            try:
                self._writer.sync()
            except OSError as error:  # the system may have dropped what it could not write
                self.fail(error)

    def close(self) -> None:
        """Close the files."""
        writer = self._let_go()
        if writer is not None:
            try:
                writer.close()
            except OSError as error:
                self.fail(error)

    def fail(self, error: OSError) -> None:
        """Stop because of an error of the system."""
        self.stop(_reason(error))

    def stop(self, reason: str) -> None:
        """Write nothing more, and say so."""
        if self.stopped is None:
            size = bytes_in(self._folder)
            self.stopped = (
                f"cache({self._folder!r}) does not grow beyond {size:,} bytes: {reason}. Rows that are not kept are "
                "made again in each epoch; `penstock cache ls` shows what is in the folder, and `clear` removes it"
            )
            self._tell(self.stopped)
        self.close()

    def forget(self) -> None:
        """Close the files without a word, as in the child of a fork, whose parent goes on to write them."""
        writer = self._let_go()
        if writer is not None:
            with suppress(OSError):
                writer.close()

    def _let_go(self) -> LogWriter | None:
        writer, self._writer = self._writer, None
        if self._log is not None:
            self._log.is_own = False
        return writer

    def _begin(self) -> None:
        self.close()
        if self.stopped is not None:
            return
        place = self._prepare()
        with self._logs.lock:  # so that nobody takes the new files for another writer's
            self._writer = LogWriter(place)
            self._log = self._logs.begin(self._writer.path)
            self._log.is_own = True
        self.look()

    def _fitting(self, packed: PackedRows, writer: LogWriter) -> tuple[PackedRows, str | None]:
        """Return the first of the rows that there is room for, and why that is not all of them."""
        records = LOG_RECORD.itemsize * np.arange(1, len(packed.which) + 1)
        ends = packed.ends + records + writer.bytes_of(packed.form)
        count, reason = len(ends), None
        if self._limit is not None:
            room = _below(ends, self._limit - self._others - writer.bytes)
            if room < count:
                count, reason = room, f"it would have more than limit_bytes={self._limit:,}"
        state = os.statvfs(self._folder)
        left = min(_LEFT_FREE[0], int(_LEFT_FREE[1] * state.f_blocks * state.f_frsize))
        room = _below(ends, state.f_bavail * state.f_frsize - left)
        if room < count:
            count, reason = room, f"less than {left:,} bytes would be free on the disk"
        return packed if reason is None else packed.first(count), reason


def _below(ends: NDArray[np.int64], room: int) -> int:
    return int(np.searchsorted(ends, room, side="right"))


def _reason(error: OSError) -> str:
    told = _NO_ROOM.get(error.errno or 0)
    code = errno.errorcode.get(error.errno or 0, "")
    text = os.strerror(error.errno) if error.errno else str(error)
    return f"{told} ({text}, {code})" if told else f"{text} ({code})" if code else text


def is_in_memory(folder: str) -> bool:
    """Return whether the files of a folder, or of one that would be made, lie in memory.

    >>> is_in_memory("/proc/self")
    False
    """
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = [line.split() for line in file]
    except OSError:  # another system
        return False
    mounts = {fields[4].encode().decode("unicode_escape"): fields[fields.index("-") + 1] for fields in lines}
    path = os.path.realpath(folder)
    while path not in mounts and path != "/":
        path = os.path.dirname(path)
    return mounts.get(path) in _IN_MEMORY
