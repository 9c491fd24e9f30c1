"""The logs of all writers of one key, and the table that says where each row is."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.cache.compressing import CODECS
from penstock.cache.forms import RowForm
from penstock.core.arrays import Rows
from penstock.kernels import MappedFile
from penstock.kernels.cached_rows import LOG_RECORD, VERIFIED, crc32c_rows
from penstock.kernels.records import crc32c

LOG, DATA = ".log", ".data"
ROWS_END = 1 << 33
"""Rows have numbers below this."""
FORM_BITS = np.uint32((1 << 16) - 1)
"""The bits of a record's `form` that are the number of the form in its log; the codec is above them."""
_MOST_FORMS = (1 << 11) - 1  # of all writers
_MOST_LOGS = 1 << 20
_AT_ONCE = 1 << 16  # records looked at


@dataclass(eq=False)
class RowLog:
    """The files of one writer, as far as they have been looked at."""

    path: str
    number: int
    is_own: bool = False  # this process is writing it, and adds its records itself
    seen: int = 0  # records
    end: int = 0  # of the data of the records seen
    size: int = 0  # of both files, when last looked at
    forms: dict[int, RowForm] = field(default_factory=dict[int, RowForm])
    records: MappedFile | None = None
    data: MappedFile | None = None

    def mapped(self, suffix: str, least: int) -> MappedFile | None:
        """Return one of the files mapped into memory, at least this many bytes of it if they are there."""
        found = self.records if suffix == LOG else self.data
        if found is None or len(found.content) < least:
            try:
                found = MappedFile(self.path + suffix)
            except OSError:  # removed
                return found
            if suffix == LOG:
                self.records = found
            else:
                self.data = found
        return found


class Logs:
    """The table of rows, with 8 bytes for each number up to the largest, and the mapped files of all writers.

    An entry of the table has, from the lowest bit, the number of the record in its log, from 1 (32 bits), the number of
    the log (20 bits), the number of the form (11 bits), and whether the row was verified; 0 is a missing row. Threads
    may read while one refreshes or adds, under `lock`.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._logs: list[RowLog] = []
        self._numbers: dict[str, int] = {}
        self._forms: dict[tuple[RowForm, int], int] = {}
        self._stale = set[int]()  # logs with records beyond what is mapped
        self.forms: list[tuple[RowForm, int]] = []
        """The forms of rows and the numbers of their codecs, by their number in entries."""
        self.table = np.zeros(0, np.uint64)
        self.count = 0
        """The number of rows present."""
        self.damaged = 0
        """The number of damaged records and rows met."""
        self.maps: tuple[list[NDArray[np.uint8] | None], list[NDArray[np.uint8] | None]] = ([], [])
        """The records and the data of each log, for the kernel."""
        self.lock = threading.RLock()

    @property
    def bytes(self) -> int:
        """The bytes of all files, when last looked at."""
        return sum(log.size for log in self._logs)

    def refresh(self) -> int:
        """Look for records that have been added since; return how many rows became present."""
        with self.lock:
            before = self.count
            try:
                names = sorted(name for name in os.listdir(self._folder) if name.endswith(LOG))
            except OSError:  # not there yet, or removed
                return 0
            for name in names:
                if (stem := name.removesuffix(LOG)) not in self._numbers and len(self._logs) < _MOST_LOGS:
                    self.begin(os.path.join(self._folder, stem))
            for log in self._logs:
                if not log.is_own:
                    self._look(log)
            return self.count - before

    def begin(self, path: str) -> RowLog:
        """Return a new log, whose files have this path without their suffixes."""
        with self.lock:
            log = RowLog(path, len(self._logs))
            self._logs.append(log)
            self._numbers[os.path.basename(path)] = log.number
            for each in self.maps:
                each.append(None)
            return log

    def add(self, log: RowLog, records: NDArray[np.void]) -> None:
        """Add valid records that follow those of the log that have been seen."""
        with self.lock:
            first = log.seen
            log.seen += len(records)
            log.end = max(log.end, int((records["offset"] + records["length"]).max(initial=0)))
            log.size = max(log.size, log.end + log.seen * LOG_RECORD.itemsize)
            self._stale.add(log.number)
            rows = records["row"]
            for i in np.flatnonzero(rows < 0).tolist():
                self._learn(log, records[i])
            forms = records["form"]
            for form in np.unique(forms[rows >= 0]).tolist():
                number = self._number_of(log, form)
                which = np.flatnonzero((forms == form) & (rows >= 0) & (rows < ROWS_END))
                if number is None:
                    self.damaged += len(which)
                else:
                    self._enter(rows[which], which + first + 1, log.number, number)

    def learn(self, log: RowLog, number: int, form: RowForm) -> None:
        """Add a form that this process has written to the log."""
        log.forms[number] = form

    def located(self, entries: NDArray[np.uint64]) -> None:
        """Map what the entries refer to, where it is not mapped yet."""
        if not self._stale:
            return
        with self.lock:
            wanted = np.unique((entries >> np.uint64(32)) & np.uint64(0xFFFFF)).tolist()
            for number in self._stale.intersection(wanted):
                log = self._logs[number]
                size = LOG_RECORD.itemsize
                for suffix, least, contents in zip((LOG, DATA), (log.seen * size, log.end), self.maps, strict=True):
                    mapped = log.mapped(suffix, least)
                    contents[number] = None if mapped is None else mapped.content
                self._stale.discard(number)

    def verified(self, rows: Rows, entries: NDArray[np.uint64]) -> None:
        """Remember that these rows were verified."""
        with self.lock:
            same = self.table[rows] == entries  # not lost or written again meanwhile
            self.table[rows[same]] = entries[same] | VERIFIED

    def lose(self, rows: Rows) -> None:
        """Count rows as damaged, and as missing from now on."""
        with self.lock:
            rows = np.unique(rows)
            rows = rows[self.table[rows] != 0]
            self.table[rows] = 0
            self.damaged += len(rows)
            self.count -= len(rows)

    def _look(self, log: RowLog) -> None:
        """Add the new records of a log, up to the last valid one."""
        sizes = [_size_of(log.path + suffix) for suffix in (LOG, DATA)]
        log.size = sum(sizes)
        count = sizes[0] // LOG_RECORD.itemsize
        if count <= log.seen:
            return
        mapped = log.mapped(LOG, count * LOG_RECORD.itemsize)
        if mapped is None:
            return
        content = mapped.content[: len(mapped.content) // LOG_RECORD.itemsize * LOG_RECORD.itemsize]
        records = content.view(LOG_RECORD)[:count]
        self.maps[0][log.number] = mapped.content
        for low in range(log.seen, len(records), _AT_ONCE):
            self._add_valid(log, records[low : low + _AT_ONCE], is_last=low + _AT_ONCE >= len(records))

    def _add_valid(self, log: RowLog, records: NDArray[np.void], *, is_last: bool) -> None:
        """Add the valid ones of some records; those after the last valid one may still be written."""
        whole = np.ascontiguousarray(records).view(np.uint8).reshape(len(records), -1)
        valid = crc32c_rows(whole, LOG_RECORD.itemsize - 4) == records["own"]
        if is_last:
            records = records[: len(records) - int(valid[::-1].argmax()) if valid.any() else 0]
            valid = valid[: len(records)]
        wrong = np.flatnonzero(~valid)
        self.damaged += len(wrong)
        made = records.copy()
        made[wrong] = np.zeros((), LOG_RECORD)
        made["row"][wrong] = ROWS_END  # no row; the numbers of the others stay
        self.add(log, made)

    def _learn(self, log: RowLog, record: np.void) -> None:
        """Read the form that a record refers to, unless it is known."""
        number = -1 - int(record["row"])
        if number in log.forms:
            return
        begin, end = int(record["offset"]), int(record["offset"]) + int(record["length"])
        mapped = log.mapped(DATA, end)
        content = b"" if mapped is None else mapped.content[begin:end].tobytes()
        if len(content) == end - begin and crc32c(content) == record["crc"]:
            log.forms[number] = RowForm.parsed(content.decode())

    def _number_of(self, log: RowLog, form: int) -> int | None:
        """Return the number in entries of the form and codec that a record names."""
        known = log.forms.get(form & int(FORM_BITS))
        codec = form >> 16
        if known is None or codec >= len(CODECS):
            return None
        number = self._forms.get((known, codec))
        if number is None and len(self.forms) < _MOST_FORMS:
            number = self._forms[known, codec] = len(self.forms)
            self.forms.append((known, codec))
        return number

    def _enter(self, rows: Rows, numbers: Rows, log: int, form: int) -> None:
        """Put rows into the table; the last record of a row counts."""
        if not len(rows):
            return
        most = int(rows.max()) + 1
        if most > len(self.table):
            larger = np.zeros(
                max(most, min(2 * len(self.table), ROWS_END)), np.uint64
            )  # pages that stay zero take none
            larger[: len(self.table)] = self.table
            self.table = larger
        new = np.unique(rows[self.table[rows] == 0])
        self.table[rows] = numbers.astype(np.uint64) | np.uint64(log << 32 | form << 52)
        self.count += len(new)


def _size_of(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0
