"""The two files of one writer: the bytes of rows, and the log of records that say where each row is."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.cache.forms import RowForm, aligned
from penstock.cache.logs import DATA, LOG, RowLog
from penstock.cache.packing import PackedRows
from penstock.core.arrays import Rows
from penstock.kernels.cached_rows import LOG_RECORD, crc32c_rows

DATA_BYTES = 1 << 30
"""After this many bytes of data, a writer begins new files."""
_APART = 1 << 12  # bytes between the two copies of a form, so that one damaged block leaves the other
_MOST_AT_ONCE = 1024  # arrays that the system takes in one call
_IN_THE_CACHE = 1 << 20  # bytes that a core still has in its cache for the system to copy, after their checksums


class LogWriter:
    """Appends rows to new files, which no other process writes to: the data first, then the records of it.

    Nothing is ever overwritten or cut. Any error of the system ends the writing; what was recorded before it stays. The
    files are closed with this object.
    """

    def __init__(self, folder: str) -> None:
        self.path = os.path.join(folder, f"{time.time_ns():016x}-{os.urandom(6).hex()}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._data = os.open(self.path + DATA, flags, 0o666)
        try:
            self._log = os.open(self.path + LOG, flags, 0o666)
        except OSError:
            os.close(self._data)
            os.unlink(self.path + DATA)
            raise
        self._close = weakref.finalize(self, _close, self._data, self._log)
        self._close.atexit = False
        self._end = 0  # of the data
        self._count = 0  # records
        self._forms: dict[RowForm, int] = {}

    @property
    def bytes(self) -> int:
        """The bytes written."""
        return self._end + self._count * LOG_RECORD.itemsize

    @property
    def bytes_on_disk(self) -> int:
        """The bytes that the files have now, with those of an unfinished write."""
        return os.fstat(self._data).st_size + os.fstat(self._log).st_size

    @property
    def is_full(self) -> bool:
        """True if the next rows should be in new files."""
        return self._end >= DATA_BYTES

    @property
    def is_removed(self) -> bool:
        """True if somebody has removed the files: nobody else will find what is written to them."""
        return os.fstat(self._data).st_nlink == 0

    def bytes_of(self, form: RowForm) -> int:
        """Return the bytes before the next rows: padding, and about those of their form, if it is not written yet."""
        padding = aligned(self._end, 64) - self._end
        return padding if form in self._forms else padding + 3 * _APART + 2 * len(form.text)

    def define(self, form: RowForm, log: RowLog) -> NDArray[np.void]:
        """Write a form twice, unless it is written already, and return the records of it."""
        if form in self._forms:
            return np.zeros(0, LOG_RECORD)
        number = len(self._forms)
        content = form.text.encode()
        room = aligned(len(content), _APART)
        data = np.frombuffer(content.ljust(room, b"\0") + content, np.uint8)[None]
        offsets, lengths = np.array([0, room]), np.full(2, len(content))
        both = PackedRows(form, np.arange(2), [data], offsets, lengths, np.zeros(2, np.int64))
        records = self._append(both, np.full(2, -1 - number), both.codecs)
        self._forms[form] = number
        log.forms[number] = form
        return records

    def write(self, packed: PackedRows, rows: Rows) -> NDArray[np.void]:
        """Write rows of a defined form; `rows` are their numbers, `int64[k]`. Return their records."""
        return self._append(packed, rows, self._forms[packed.form] | packed.codecs << 16)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        os.fdatasync(self._data)
        os.fdatasync(self._log)

    def close(self) -> None:
        """Close the files; a network file system may only now say that it had no room."""
        self._close()

    def _append(self, packed: PackedRows, rows: Rows, forms: Rows) -> NDArray[np.void]:
        begin = aligned(self._end, 64)
        records = np.zeros(len(rows), LOG_RECORD)
        records["row"], records["offset"], records["length"] = rows, begin + packed.offsets, packed.lengths
        records["form"] = forms
        self._end = begin  # bytes of an unfinished write are overwritten by none, and recorded by none
        at, sums = begin, list[NDArray[np.uint32]]()
        for strips, of_rows in packed.summed(_IN_THE_CACHE):
            at = _write(self._data, strips, at)
            sums.append(of_rows)
        records["crc"] = np.concatenate(sums)
        self._end = at
        bare = records.view(np.uint8).reshape(len(records), -1)
        records["own"] = crc32c_rows(bare, LOG_RECORD.itemsize - 4)
        _write(self._log, [bare], self._count * LOG_RECORD.itemsize)
        self._count += len(records)
        return records


def _close(data: int, log: int) -> None:
    try:
        os.close(data)
    finally:
        os.close(log)


def _write(file: int, strips: Sequence[NDArray[np.uint8]], at: int) -> int:
    """Write row 0 of each strip, then row 1 of each, and so on; return where they end.

    The system may take some of the bytes, and refuse the rest only when asked again.
    """
    if len(strips) == 1:
        left = [strips[0].reshape(-1).data]
    else:
        left = [row.data for rows in zip(*strips, strict=True) for row in rows]
    done = 0
    while done < len(left):
        count = os.pwritev(file, left[done : done + _MOST_AT_ONCE], at)
        at += count
        while done < len(left) and count >= len(left[done]):
            count -= len(left[done])
            done += 1
        if count:
            left[done] = left[done][count:]
    return at
