"""Datasets of the records of files."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from numpy.typing import DTypeLike

from penstock.core.checks import check_flag, check_list
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.sources.tfrecord.files import tfrecord_files
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, find_files
from penstock.storage.remote.file import are_remote


@helpful
def read_tfrecord(
    paths: Pattern | Sequence[Pattern],
    *,
    compression: str | None = "auto",
    verify: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[bytes]:
    """Read the records of TFRecord files as `bytes`, file after file, with random access.

    `paths` is a path or a pattern, whose matches are sorted, or a list of them, which keeps its order and duplicates;
    URLs, with `storage_options` for their stores, are in docs/remote.md.

    The first time, each file is scanned once for the positions of its records; the index is kept next to the file, and
    rebuilt when the file has changed. Thus `shuffle()` mixes all records of all files, `ds[i]` is one read, and a
    state holds a row. With `verify`, the checksum of each record is verified whenever the record is read: a damaged
    record raises a `DataError`, and `ds.ignore_errors()` leaves out only that record. A file that is not a TFRecord
    file, or ends inside a record, raises a `DataError` before the first element; with `ds.ignore_errors()`, the records
    before that point are read, and one failure stands for the rest.

    Files that are compressed as a whole (gzip, zlib, bz2, xz, zstd, lz4; detected by their first bytes, or named by
    `compression="GZIP"` and the like for all files) are a stream instead: the next file is read ahead, and a restored
    iterator reads its current file again from the beginning. To read several files at once, `interleave` over their
    names. If all files are zstd with a table of frames (the "seekable format"), they have random access like
    uncompressed files.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.tfrecord"
    >>> Dataset.from_source([b"one", b"two", b"three"]).write_tfrecord(path) == [path]
    True
    >>> ds = read_tfrecord(path)
    >>> len(ds), ds[2]
    (3, b'three')
    """
    check_flag("read_tfrecord", "verify", verify)
    files = find_files(paths, "read_tfrecord", storage_options=storage_options)
    return tfrecords(files, named_compression("read_tfrecord", compression), verify=verify)


def tfrecords(files: list[str], compression: str | None, *, verify: bool) -> Dataset[bytes]:
    """Return the records of these files, in this order; `compression` is as `named_compression` returns it."""
    from penstock.sources.tfrecord.seekable import SeekableRecords
    from penstock.sources.tfrecord.stream import TfRecordStream, compression_of_tfrecord
    from penstock.storage.seekable import advise_tables, frames_of

    source = tfrecord_files(files, verify=verify)
    how = compressions_of(files, compression, compression_of_tfrecord)
    if how and set(how) == {"zstd"}:
        if are_remote(files):
            advise_tables(files)
        if all(map(frames_of, files)):
            return reading(SeekableRecords(files, source.name, verify))
    if any(how):
        return Dataset(ReadStream(TfRecordStream(files, how, source.name, verify)))
    return reading(source)


@helpful
def read_fixed_length(
    paths: Pattern | Sequence[Pattern],
    record_bytes: int | None = None,
    *,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    compression: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[Any]:
    """Read consecutive records of `record_bytes` each from files, as `bytes`, or as arrays of `dtype` and `shape`.

    `header_bytes` and `footer_bytes` of each file are skipped. With a `dtype`, records are copied from the file
    straight into the batch; `record_bytes` then follows from `shape`, or a one-dimensional shape from `record_bytes`.
    Bytes are read in the byte order of the dtype (`">u2"` for big-endian; elements have the machine's). Files are read
    in the order of a list, or the sorted order of a pattern, each record with random access, and need no index. A file
    whose size does not fit raises a `DataError` now.

    With a `compression` (as in `read_tfrecord`; `"auto"` looks at the first bytes of each file, which records of
    uncompressed files may also have), files that are compressed as a whole are read as a stream. URLs, with
    `storage_options` for their stores, are in docs/remote.md.

    >>> import numpy as np, tempfile
    >>> path = tempfile.mkdtemp() + "/points.bin"
    >>> np.arange(6, dtype=np.float32).tofile(path)
    >>> list(read_fixed_length(path, dtype=np.float32, shape=[2]).skip(2))
    [array([4., 5.], dtype=float32)]
    >>> read_fixed_length(path, 12)
    <Dataset of 2: bytes | read_fixed_length('...')>
    """
    call = "read_fixed_length"
    sizes = None if shape is None else check_list(call, "shape", shape, "sizes")
    compressions = named_compression(call, compression)
    files = find_files(paths, call, storage_options=storage_options)
    layout = {"header_bytes": header_bytes, "footer_bytes": footer_bytes, "dtype": dtype, "shape": sizes}
    return fixed_records(call, files, record_bytes, compressions, **layout)


def fixed_records(
    call: str, files: list[str], record_bytes: int | None, compression: str | None, **layout: Any
) -> Dataset[Any]:
    """Return the records of these files, in this order; `compression` is as `named_compression` returns it."""
    from penstock.sources.records.fixed import FixedFiles, fixed_files
    from penstock.sources.records.fixed_stream import FixedStream
    from penstock.sources.unreadable import with_unreadable

    def make(some: list[str], torn: Collection[str] = (), *, compressed: bool = False) -> FixedFiles:
        return fixed_files(some, record_bytes, call=call, compressed=compressed, torn=torn, **layout)

    how = compressions_of(files, compression)
    if any(how):
        return Dataset(ReadStream(FixedStream(make(files, compressed=True), how)))
    return reading(with_unreadable(files, make, lambda path: make([path]), os.path.isfile))
