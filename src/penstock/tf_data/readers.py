"""The datasets of `tf.data` that read files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any, cast

import numpy as np

from penstock.core.checks import check_list, is_one_of
from penstock.dataset.readers.lines import lines
from penstock.dataset.readers.records import fixed_records, tfrecords
from penstock.storage.compression import named_compression
from penstock.storage.paths import Pattern, find_files
from penstock.tf_data import tensors
from penstock.tf_data.constructed import constructed
from penstock.tf_data.dataset import Dataset, made_as, ported
from penstock.tf_data.labelled import check_name


def paths_as_text(given: Any) -> Any:
    """Return paths that are tensors, or the elements of a dataset, as text; other arguments are unchanged."""
    if isinstance(given, Dataset):
        return [paths_as_text(path) for path in cast("Dataset[Any]", given)]
    if isinstance(given, list | tuple):
        return [paths_as_text(path) for path in cast("list[Any]", given)]
    path = tensors.to_numpy(given)
    if isinstance(path, np.ndarray):
        return [paths_as_text(each) for each in path.ravel().tolist()]
    return os.fsdecode(path) if isinstance(path, bytes) else path


def _reader(function: Callable[..., Any]) -> Callable[..., Any]:
    return constructed(function, made_as, paths_as_text)


@_reader
def TextLineDataset(  # noqa: N802 - tf.data's name
    filenames: Pattern | Iterable[Pattern],
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset[bytes]:
    r"""Read the lines of text files as `bytes`, without `\n` or `\r\n`, file after file in the order given.

    Access is random, unless the files are compressed, which is detected if `compression_type` is not given.
    `buffer_size` and `num_parallel_reads` are ignored: files are mapped, and their order never changes. A `\r` within a
    line is kept; a byte order mark is dropped.

    >>> from penstock import tf_data
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> file.write_bytes(b"one\r\ntwo\n")
    9
    >>> list(tf_data.TextLineDataset([str(file)]).skip(1))
    [b'two']
    """
    from penstock.sources.text.lines import line_files

    call = "TextLineDataset"
    files = line_files(_paths(call, filenames, name), encoding=None, call=call)
    return ported(lines(files, compression_named(call, compression_type)))


@_reader
def FixedLengthRecordDataset(  # noqa: N802 - tf.data's name, and its arguments
    filenames: Pattern | Iterable[Pattern],
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    buffer_size: int | None = None,
    compression_type: str | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset[bytes]:
    """Read records of `record_bytes` each as `bytes`, in the order of the files; see `penstock.read_fixed_length`.

    Access is random, unless the files are compressed according to `compression_type`. `buffer_size` and
    `num_parallel_reads` are ignored.

    >>> from penstock import tf_data
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.bin"
    >>> file.write_bytes(b"headone two ")
    12
    >>> list(tf_data.FixedLengthRecordDataset(str(file), 4, header_bytes=4))
    [b'one ', b'two ']
    """
    call = "FixedLengthRecordDataset"
    compression = None if compression_type is None else compression_named(call, compression_type)
    header = 0 if header_bytes is None else header_bytes
    footer = 0 if footer_bytes is None else footer_bytes
    paths = _paths(call, filenames, name)
    return ported(fixed_records(call, paths, record_bytes, compression, header_bytes=header, footer_bytes=footer))


@_reader
def TFRecordDataset(  # noqa: N802 - tf.data's name
    filenames: Pattern | Iterable[Pattern],
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    name: str | None = None,
) -> Dataset[bytes]:
    """Read the records of TFRecord files as `bytes`, in the order of the files; see `penstock.read_tfrecord`.

    Access is random, unless the files are compressed, which is detected if `compression_type` is not given.
    `buffer_size` and `num_parallel_reads` are ignored: files are mapped, compressed ones are read ahead, and their
    order never changes.

    >>> from penstock import Dataset, tf_data
    >>> import tempfile
    >>> names = Dataset.from_source([b"one", b"two"]).write_tfrecord(tempfile.mkdtemp() + "/a.tfrecord")
    >>> sorted(tf_data.TFRecordDataset(names).shuffle(2, seed=1))
    [b'one', b'two']
    """
    compression = compression_named("TFRecordDataset", compression_type)
    paths = _paths("TFRecordDataset", filenames, name)
    return ported(tfrecords(paths, compression, verify=True))


def compression_named(call: str, compression_type: str | None) -> str | None:
    """Return Penstock's name for a compression type of `tf.data`; `None` means that the files tell."""
    if compression_type is None:
        return named_compression(call, "auto")
    return None if is_one_of(compression_type, "NONE") else named_compression(call, compression_type)


def _paths(call: str, filenames: Any, name: str | None) -> list[str]:
    check_name(name)
    if isinstance(filenames, (str, bytes, os.PathLike)):
        return find_files(filenames, call, "filenames", None)
    given = check_list(call, "filenames", filenames, "paths")
    return find_files(given, call, "filenames", None) if given else []
