"""The growth of a cache on disk, and the reasons why it ends."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

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


@dataclass(eq=False)
class OwnFiles:
    """The files of one writer, in the hands of one thread at a time; `counted` are the bytes that they have or will."""

    writer: LogWriter
    log: RowLog
    counted: int = 0


class Growth:
    """Writes rows to the files of one process, until something stops it: then `stopped` says what, and `tell` got it.

    Threads that write at the same time have files of their own, since the system lets one at a time write to a file.
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
        self._others = -1  # bytes in the folder that are not in the files below; -1: not looked at yet
        self._idle: list[OwnFiles] = []
        self._in_use: list[OwnFiles] = []
        self._lock = threading.RLock()  # never held while rows are written
        self.stopped: str | None = None
        """The sentence that says why nothing more is written."""

    def look(self) -> None:
        """Look at how many bytes the folder has."""
        if self._limit is not None:
            with self._lock:
                own = sum(files.writer.bytes_on_disk for files in self._all)  # first: what is written next counts twice
                self._others = bytes_in(self._folder) - own

    def add(self, packed: PackedRows, rows: Rows) -> int:
        """Write rows, `int64[k]`, and enter them into the table; return how many there was room for."""
        files = None
        try:
            files = self._taken()
            if files is None:
                return 0
            writer, log = files.writer, files.log
            packed, reason = self._fitting(packed, files)
            if len(packed.which):
                if len(forms := writer.define(packed.form, log)):
                    self._logs.add(log, forms)
                self._logs.add(log, writer.write(packed, rows[: len(packed.which)]))
            if reason is not None:
                self.stop(reason)
            return len(packed.which)
        except OSError as error:
            self.fail(error)
            return 0
        finally:
            if files is not None:
                self._returned(files)

    def sync(self) -> None:
        """Wait until what was written is on the disk."""
        with self._lock:
            try:
                for files in self._all:
                    files.writer.sync()
            except OSError as error:  # the system may have dropped what it could not write
                self.fail(error)

    def close(self) -> None:
        """Close the files, those that a thread writes to once it is done."""
        with self._lock:
            idle, self._idle, self._in_use = self._idle, [], []
            for files in idle:
                self._end(files)

    def fail(self, error: OSError) -> None:
        """Stop because of an error of the system."""
        self.stop(_reason(error))

    def stop(self, reason: str) -> None:
        """Write nothing more, and say so."""
        with self._lock:
            if self.stopped is None:
                self.stopped = (  # in the same words in each process that fills the folder
                    f"cache({self._folder!r}) does not grow any more: {reason}. Rows that are not kept "
                    "are made again in each epoch; `penstock cache ls` shows what is in the folder, and `clear` "
                    "removes it"
                )
                self._tell(self.stopped)
            self.close()

    def forget(self) -> None:
        """Close the files without a word, as in the child of a fork, whose parent goes on to write them."""
        self._lock = threading.RLock()
        for files in self._all:
            files.log.is_own = False
            with suppress(OSError):
                files.writer.close()
        self._idle, self._in_use = [], []

    @property
    def _all(self) -> list[OwnFiles]:
        return self._idle + self._in_use

    def _taken(self) -> OwnFiles | None:
        """Return files that no other thread writes to; `None` if nothing more is written."""
        with self._lock:
            while self._idle and self.stopped is None:
                files = self._idle.pop()
                if not files.writer.is_full and not files.writer.is_removed:
                    self._in_use.append(files)
                    return files
                self._end(files)
            if self.stopped is not None:
                return None
            place = self._prepare()
            with self._logs.lock:  # so that nobody takes the new files for another writer's
                writer = LogWriter(place)
                log = self._logs.begin(writer.path)
                log.is_own = True
            self._in_use.append(files := OwnFiles(writer, log))
            self.look()
            return files

    def _returned(self, files: OwnFiles) -> None:
        """Let another thread take files, or close them if the others were closed meanwhile."""
        with self._lock:
            files.counted = files.writer.bytes
            if files in self._in_use:
                self._in_use.remove(files)
                self._idle.append(files)
            else:
                self._end(files)

    def _end(self, files: OwnFiles) -> None:
        files.log.is_own = False
        try:
            files.writer.close()
        except OSError as error:
            self.fail(error)

    def _fitting(self, packed: PackedRows, files: OwnFiles) -> tuple[PackedRows, str | None]:
        """Return the first of the rows that there is room for, and why that is not all of them."""
        before = files.writer.bytes_of(packed.form)
        ends = packed.ends + LOG_RECORD.itemsize * np.arange(1, len(packed.which) + 1) + before
        count, reason = len(ends), None
        with self._lock:
            if self._limit is not None:
                room = _below(ends, self._limit - self._others - sum(each.counted for each in self._all))
                if room < count:
                    count, reason = room, f"it would have more than limit_bytes={self._limit:,}"
            state = os.statvfs(self._folder)
            left = min(_LEFT_FREE[0], int(_LEFT_FREE[1] * state.f_blocks * state.f_frsize))
            room = _below(ends, state.f_bavail * state.f_frsize - left)
            if room < count:
                count, reason = room, f"less than {left:,} bytes would be free on the disk"
            files.counted += int(ends[count - 1]) if count else 0
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
