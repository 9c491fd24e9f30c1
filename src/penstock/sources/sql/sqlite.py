"""Files of SQLite, opened for reading: local ones in place, those at a URL as a copy with their log."""

from __future__ import annotations

import shlex
import threading
from dataclasses import field
from typing import Any

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.storage.local import read_extent
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.listing import find_beside
from penstock.storage.remote.opened import KeptCopy

WAL = "-wal"
"""The ending of the name of a log of SQLite."""
JOURNAL = "-journal"
"""The ending of the name of the file with which SQLite rolls a transaction back."""
_OF_UNFINISHED = bytes.fromhex("d9d505f920a163d7")  # the first bytes of a journal, zero or absent once it is ended
_UNFINISHED = (
    "a transaction did not end, as when its program is killed or the file is copied in the middle: {path}-journal has "
    "what is to be rolled back, and without that, rows would be read that were never committed."
)
_WRITE_VERSION = 18, 19  # bytes of a file that say whether it is in WAL mode


@frozen()
class Sqlite:
    """A function that opens a file of SQLite for reading."""

    path: str

    def __call__(self) -> Any:
        return _opened(self.path)


@frozen(eq=False)
class RemoteSqlite:
    """A function that opens a copy of a remote file of SQLite, which lasts as long as this object in this process.

    The log of a file in WAL mode, if there is one next to it, is copied with it: it has the latest transactions.
    """

    path: RemoteFile
    log: RemoteFile | None
    lacks_log: bool = False
    """True if the file is in WAL mode without a log next to it, as after a checkpoint, or if that was not copied."""
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _kept: list[KeptCopy] = field(default_factory=list["KeptCopy"], init=False, repr=False)

    def __call__(self) -> Any:
        with self._lock:
            if not self._kept:
                self._kept.append(KeptCopy(self.path, {} if self.log is None else {WAL: self.log}))
        return _opened(self._kept[0].path)

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteSqlite, (self.path, self.log, self.lacks_log)


def remote_sqlite(path: RemoteFile) -> RemoteSqlite:
    """Return the function that opens a remote file of SQLite, of which the first bytes are read now.

    Raise a `DataError` if a transaction that did not end is in it, which only its journal can roll back.
    """
    journal = find_beside(path, JOURNAL)
    size = len(_OF_UNFINISHED)
    if journal is not None and journal.size >= size and read_extent(journal, 0, size) == _OF_UNFINISHED:
        raise DataError(
            f"read_sql({path!r}): {_UNFINISHED.format(path=path)} Copy both into one folder, open the database there "
            "once with write access, such as by `sqlite3 FILE 'pragma quick_check'`, and upload it without a journal"
        )
    in_wal_mode = path.size >= _WRITE_VERSION[1] and read_extent(path, *_WRITE_VERSION) == b"\2"
    log = find_beside(path, WAL) if in_wal_mode else None
    return RemoteSqlite(path, log, lacks_log=in_wal_mode and log is None)


def _opened(path: str) -> Any:
    import sqlite3  # slow to import, and rarely needed
    from urllib.parse import quote

    connection = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True, check_same_thread=False)
    try:
        connection.execute("PRAGMA schema_version")  # reads the file
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_READONLY_ROLLBACK:
            connection.close()
            raise DataError(
                f"read_sql({path!r}): {_UNFINISHED.format(path=path)} Open it once with write access, such as by "
                f"`sqlite3 {shlex.quote(path)} 'pragma quick_check'`, which rolls back, and read it then"
            ) from None
    return connection  # any other error is that of the statement to come
