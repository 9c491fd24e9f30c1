"""Datasets of the records of files."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from typing import Any

from numpy.typing import DTypeLike

from penstock.core.checks import check_flag, check_list
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.sources.tfrecord.files import tfrecord_files
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, list_files


@helpful
def read_tfrecord(
    paths: Pattern | Sequence[Pattern], *, compression: str | None = "auto", verify: bool = True
) -> Dataset[bytes]:
    """The records of TFRecord files as `bytes`, in the sorted order of the files, each at random.

    The first time, each file is scanned once for where its records lie; the index is kept beside it, and made again
    when the file has changed. So `shuffle()` is over all records of all files, `ds[i]` is one read, and a cursor is a
    row. With `verify`, the checksum of each record is looked at whenever it is read: a damaged one is a `DataError`,
    and `ds.ignore_errors()` loses it alone. A file that is no TFRecord, or ends inside of a record, is a `DataError`
    before the first element; with `ds.ignore_errors()`, the records before that come, and one fails in place of the
    rest.

    Files that are compressed as a whole (gzip, zlib, bz2, xz, zstd, lz4; told by their first bytes, or by
    `compression="GZIP"` and the like for all files) are a stream instead: the next file is read ahead, and a
    restored iterator reads the one in which it was again. To read more of them side by side, `interleave` over their
    names. Where all are zstd with a table of their frames (its "seekable format"), they are read at random like others.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.tfrecord"
    >>> Dataset.from_source([b"one", b"two", b"three"]).write_tfrecord(path) == [path]
    True
    >>> ds = read_tfrecord(path)
    >>> len(ds), ds[2]
    (3, b'three')
    """
    check_flag("read_tfrecord", "verify", verify)
    return tfrecords(list_files(paths, "read_tfrecord"), named_compression("read_tfrecord", compression), verify=verify)


def tfrecords(files: list[str], compression: str | None, *, verify: bool) -> Dataset[bytes]:
    """The records of these files, in this order; `compression` is as `named_compression` returns it."""
    from penstock.sources.tfrecord.seekable import SeekableRecords
    from penstock.sources.tfrecord.stream import TfRecordStream, compression_of_tfrecord
    from penstock.storage.seekable import frames_of

    source = tfrecord_files(files, verify=verify)
    how = compressions_of(files, compression, compression_of_tfrecord)
    if how and set(how) == {"zstd"} and all(map(frames_of, files)):
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
) -> Dataset[Any]:
    """Records of `record_bytes` each that follow each other in files, as `bytes`, or as arrays of `dtype` and `shape`.

    `header_bytes` and `footer_bytes` of each file are left out. With a `dtype`, records are copied from the file
    straight into the batch; `record_bytes` then follows from `shape`, or a shape of one dimension from `record_bytes`.
    Bytes are taken in the order that the dtype says (`">u2"` for big-endian; elements have the machine's). Files are
    read in sorted order, each record at random, and need no index. A file whose size does not fit is a `DataError` now.

    With a `compression` (as of `read_tfrecord`; `"auto"` goes by the first bytes of each file, which records of plain
    files may have too), files that are compressed as a whole are read as a stream.

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
    files, compressions = list_files(paths, call), named_compression(call, compression)
    layout = {"header_bytes": header_bytes, "footer_bytes": footer_bytes, "dtype": dtype, "shape": sizes}
    return fixed_records(call, files, record_bytes, compressions, **layout)


def fixed_records(
    call: str, files: list[str], record_bytes: int | None, compression: str | None, **layout: Any
) -> Dataset[Any]:
    """The records of these files, in this order; `compression` is as `named_compression` returns it."""
    from penstock.sources.records.fixed import FixedFiles, fixed_files
    from penstock.sources.records.fixed_stream import FixedStream
    from penstock.sources.unreadable import with_unreadable

    def make(some: list[str], torn: Collection[str] = (), *, compressed: bool = False) -> FixedFiles:
        return fixed_files(some, record_bytes, call=call, compressed=compressed, torn=torn, **layout)

    how = compressions_of(files, compression)
    if any(how):
        return Dataset(ReadStream(FixedStream(make(files, compressed=True), how)))
    return reading(with_unreadable(files, make, lambda path: make([path]), os.path.isfile))
