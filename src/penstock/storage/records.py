"""The reader of records: of local files, or of remote objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.core.arrays import Rows
from penstock.kernels.records import Framing, RecordReader
from penstock.storage.remote.file import are_remote


def open_records(
    paths: Sequence[str],
    begins: Sequence[Rows | range],
    ends: Sequence[Rows | range],
    sizes: Sequence[int],
    times: Sequence[int | None],
    *,
    framing: Framing = Framing.PLAIN,
    verify: bool = True,
    faults: Mapping[int, Exception] | None = None,
) -> RecordReader:
    """Return the reader of records of local files, or of remote objects."""
    if are_remote(paths):
        from penstock.storage.remote.records import RemoteRecords

        return RemoteRecords(paths, begins, ends, sizes, framing=framing, verify=verify, faults=faults)
    return RecordReader(paths, begins, ends, sizes, times, framing=framing, verify=verify, faults=faults)
