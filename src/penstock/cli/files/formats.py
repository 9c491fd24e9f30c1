"""Detection of the format of a file, and the dataset of its contents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import penstock as ps
from penstock.cli.files.amounts import many, size
from penstock.cli.loading import TargetError
from penstock.core.checks import without_file_scheme
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.sources.saved.manifest import NAME
from penstock.storage.compression import SUFFIXES, first_bytes, open_decompressed
from penstock.storage.file_kinds import HEAD_SIZE, kind_of_head
from penstock.storage.local import file_size
from penstock.storage.paths import list_files
from penstock.storage.remote.file import path_of_url

WHOLE_FILES = "files"
"""The name of the format of files with one element each."""


@frozen()
class Format:
    """A format: its name, the extensions of its files, and the function that reads them."""

    name: str
    extensions: tuple[str, ...]
    reader: str
    options: tuple[tuple[str, Any], ...] = ()

    def read(self, paths: Sequence[str]) -> ps.Dataset[Any]:
        """Return the dataset of files of this format."""
        return getattr(ps, self.reader)(list(paths), **dict(self.options))

    def parts(self, paths: Sequence[str]) -> list[tuple[Sequence[str], ps.Dataset[Any]]]:
        """Return the dataset of the files or, if they differ in their columns, that of each file."""
        try:
            return [(paths, self.read(paths))]
        except DataError:
            if len(paths) == 1:
                raise
            return [([path], self.read([path])) for path in paths]

    def heading(self, paths: Sequence[str]) -> str:
        """Return the number and the size of the files."""
        files = many(len(paths), "file")
        told = f"{files} of one element each" if self.name == WHOLE_FILES else f"{self.name}: {files}"
        return f"{told}, {size(self.nbytes(paths))}"

    def nbytes(self, paths: Sequence[str]) -> int:
        """Return the bytes of the files."""
        return sum(map(file_size, paths))


FORMATS = (
    Format("TFRecord", (".tfrecord", ".tfrecords", ".tfrec"), "read_tfrecord"),
    Format("tar", (".tar",), "read_tar"),
    Format("Parquet", (".parquet", ".pq"), "read_parquet"),
    Format("Arrow", (".arrow", ".feather", ".ipc"), "read_arrow"),
    Format("NumPy", (".npy", ".npz"), "read_numpy"),
    Format("JSON lines", (".jsonl", ".ndjson"), "read_json"),
    Format("CSV", (".csv", ".tsv"), "read_csv"),
    Format("text", (".txt", ".text", ".log", ".md"), "read_text"),
    Format(WHOLE_FILES, (), "read_files"),
)
"""All formats; other files are read as whole files."""


@frozen()
class SavedDataset(Format):
    """A folder that `ds.save(path)` wrote, which is read as one file is."""

    def read(self, paths: Sequence[str]) -> ps.Dataset[Any]:
        """Return the dataset in the only folder."""
        return ps.Dataset.load(paths[0])

    def heading(self, paths: Sequence[str]) -> str:
        return f"{self.name} {paths[0]}, {size(self.nbytes(paths))}"

    def nbytes(self, paths: Sequence[str]) -> int:
        return sum(entry.stat().st_size for entry in os.scandir(paths[0]) if entry.is_file())


SAVED = SavedDataset("saved dataset", (), "load")
"""The format of folders that `ds.save(path)` wrote."""


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
            head = file.read(HEAD_SIZE)
    except DataError:  # damaged, or of another format
        head = first_bytes(path, HEAD_SIZE)
    kind = kind_of_head(head)
    if kind is None and head.lstrip().startswith(b"{"):
        return find_format("JSON lines")
    return next((known for known in FORMATS if kind is not None and known.name == kind.name), FORMATS[-1])


def named_format(path: str) -> Format | None:
    """Return the format that a file's name indicates, if any.

    >>> named_format("a.tar").name, named_format("a.tfrecord.zst").name, named_format("a.bin")
    ('tar', 'TFRecord', None)
    """
    lowered = path_of_url(path).lower()
    start, _, last = lowered.rpartition(".")
    inner = start if last in SUFFIXES else lowered
    return next((known for known in FORMATS if inner.endswith(known.extensions or ("\0",))), None)


def group_files(patterns: Sequence[str], name: str | None = None) -> list[tuple[Format, list[str]]]:
    """Return the files that match, by format; a folder stands for its files. With `name`, all have that format.

    In folders, the files of a saved dataset are one group, whose path is its own folder.
    """
    try:
        found = list_files([_inside(pattern) for pattern in patterns])
    except (OSError, ValueError) as error:
        raise TargetError(str(error)) from None
    groups: dict[str, tuple[Format, list[str]]] = {}
    given = None if name is None else find_format(name)
    in_folders = any(os.path.isdir(os.path.expanduser(without_file_scheme(pattern))) for pattern in patterns)
    for path in found:
        folder = os.path.dirname(path)
        if given is None and in_folders and os.path.isfile(os.path.join(folder, NAME)):
            groups.setdefault(folder, (SAVED, [folder]))
            continue
        known = given or format_of(path)
        groups.setdefault(known.name, (known, []))[1].append(path)
    return list(groups.values())


def _inside(pattern: str) -> str:
    pattern = without_file_scheme(pattern)
    return os.path.join(pattern, "**", "*") if os.path.isdir(os.path.expanduser(pattern)) else pattern
