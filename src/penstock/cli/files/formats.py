"""Detection of the format of a file, and the dataset of its contents."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import penstock as ps
from penstock.cli.loading import TargetError
from penstock.core.checks import without_file_scheme
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.kernels.records import masked_crc32c
from penstock.storage.compression import SUFFIXES, first_bytes, open_decompressed
from penstock.storage.paths import list_files

WHOLE_FILES = "files"
"""The name of the format of files with one element each."""
_LOOKED_AT = 512  # bytes of the beginning of a file


@frozen()
class Format:
    """A format: its name, the extensions and first bytes of its files, and the function that reads them."""

    name: str
    extensions: tuple[str, ...]
    reader: str
    begins: Callable[[bytes], bool] = lambda head: False
    options: tuple[tuple[str, Any], ...] = ()

    def read(self, paths: Sequence[str]) -> ps.Dataset[Any]:
        """Return the dataset of files of this format."""
        return getattr(ps, self.reader)(list(paths), **dict(self.options))


def _begins_tfrecord(head: bytes) -> bool:
    return len(head) >= 12 and int.from_bytes(head[8:12], "little") == masked_crc32c(head[:8])


FORMATS = (
    Format("TFRecord", (".tfrecord", ".tfrecords", ".tfrec"), "read_tfrecord", _begins_tfrecord),
    Format("tar", (".tar",), "read_tar", lambda head: head[257:262] == b"ustar"),
    Format("Parquet", (".parquet", ".pq"), "read_parquet", lambda head: head.startswith(b"PAR1")),
    Format("Arrow", (".arrow", ".feather", ".ipc"), "read_arrow", lambda head: head.startswith(b"ARROW1")),
    Format("NumPy", (".npy", ".npz"), "read_numpy", lambda head: head.startswith(b"\x93NUMPY")),
    Format("JSON lines", (".jsonl", ".ndjson"), "read_json", lambda head: head.lstrip().startswith(b"{")),
    Format("CSV", (".csv", ".tsv"), "read_csv"),
    Format("text", (".txt", ".text", ".log", ".md"), "read_text"),
    Format(WHOLE_FILES, (), "read_files"),
)
"""All formats, the most certain to detect first; other files are read as whole files."""


def find_format(name: str) -> Format:
    """Return the format of this name, in letters of any case and without spaces."""
    wanted = name.lower().replace(" ", "").replace("-", "")
    for known in FORMATS:
        if known.name.lower().replace(" ", "") == wanted:
            return known
    raise TargetError(f"there is no format {name!r}; expected one of {', '.join(each.name for each in FORMATS)}")


def format_of(path: str) -> Format:
    """Return the format of a file: by its name, or else by its first bytes.

    Compression of the whole file is ignored.

    >>> format_of("train-00000.tfrecord").name, format_of("a.jsonl.gz").name
    ('TFRecord', 'JSON lines')
    """
    named = named_format(path)
    if named is not None:
        return named
    try:
        with open_decompressed(path) as file:
            head = file.read(_LOOKED_AT)
    except DataError:  # damaged, or of another format
        head = first_bytes(path, _LOOKED_AT)
    return next((known for known in FORMATS if known.begins(head)), FORMATS[-1])


def named_format(path: str) -> Format | None:
    """Return the format that a file's name indicates, if any.

    >>> named_format("a.tar").name, named_format("a.tfrecord.zst").name, named_format("a.bin")
    ('tar', 'TFRecord', None)
    """
    lowered = path.lower()
    start, _, last = lowered.rpartition(".")
    inner = start if last in SUFFIXES else lowered
    return next((known for known in FORMATS if inner.endswith(known.extensions or ("\0",))), None)


def group_files(patterns: Sequence[str], name: str | None = None) -> list[tuple[Format, list[str]]]:
    """Return the files that match, by format; a folder stands for its files. With `name`, all have that format."""
    try:
        found = list_files([_inside(pattern) for pattern in patterns])
    except (OSError, ValueError) as error:
        raise TargetError(str(error)) from None
    groups: dict[str, tuple[Format, list[str]]] = {}
    given = None if name is None else find_format(name)
    for path in found:
        known = given or format_of(path)
        groups.setdefault(known.name, (known, []))[1].append(path)
    return list(groups.values())


def _inside(pattern: str) -> str:
    pattern = without_file_scheme(pattern)
    return os.path.join(pattern, "**", "*") if os.path.isdir(os.path.expanduser(pattern)) else pattern
