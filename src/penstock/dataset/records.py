"""Datasets of the records of files, and files of the records of datasets."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from penstock.core.checks import check_flag
from penstock.dataset.dataset import Dataset
from penstock.dataset.read import reading
from penstock.sources.tfrecord import tfrecord_files
from penstock.storage.paths import Pattern, list_files


def read_tfrecord(paths: Pattern | Sequence[Pattern], *, verify: bool = True) -> Dataset[bytes]:
    """The records of TFRecord files as `bytes`, in the sorted order of the files, each at random.

    The first time, each file is scanned once for where its records lie; the index is kept beside it, and made again
    when the file has changed. So `shuffle()` is over all records of all files, `ds[i]` is one read, and a cursor is a
    row. With `verify`, the checksum of each record is looked at whenever it is read: a damaged one is a `DataError`,
    and `ds.ignore_errors()` loses it alone. A file that is no TFRecord, or ends inside of a
    record, is a `DataError` when its length is first asked for.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.tfrecord"
    >>> write_tfrecord([b"one", b"two", b"three"], path) == [path]
    True
    >>> ds = read_tfrecord(path)
    >>> len(ds), ds[2]
    (3, b'three')
    """
    check_flag("read_tfrecord", "verify", verify)
    return reading(tfrecord_files(list_files(paths), verify=verify))


def write_tfrecord(
    records: Iterable[bytes],
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    overwrite: bool = False,
    index: bool = True,
) -> list[str]:
    """Write records (a dataset or any iterable of `bytes`) into TFRecord files, and return their paths, in order.

    One file, or with `max_bytes` several, `name-00000-of-00012.tfrecord`, each closed once it holds that many. They
    appear under their names when all are complete; after an error none is left. The `index` that `read_tfrecord`
    wants is written with them.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> names = write_tfrecord(Dataset.range(4).map(lambda x: bytes(10)), folder + "/x.tfrecord", max_bytes=50)
    >>> [name.removeprefix(folder) for name in names]
    ['/x-00000-of-00002.tfrecord', '/x-00001-of-00002.tfrecord']
    """
    from penstock.sources.tfrecord_writing import write

    check_flag("write_tfrecord", "overwrite", overwrite)
    check_flag("write_tfrecord", "index", index)
    return write(records, path, max_bytes=max_bytes, overwrite=overwrite, index=index)
