"""Read local files."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import groupby
from typing import TypeAlias, cast

import numpy as np

from penstock.kernels import advise_files, advise_ranges, read_regular_files
from penstock.storage.remote.file import RemoteFile, are_remote

_FLAGS = os.O_RDONLY | os.O_CLOEXEC
_NEAR = 1 << 16  # bytes between two parts that are read as one

Extent: TypeAlias = tuple[str, int, int]
"""A part of a file: its path, begin, and end (limited to the end of the file)."""


def read_whole(paths: list[str]) -> list[bytes]:
    """Return the content of each file.

    An `OSError` keeps its type, and has the path as `filename` and its index in `paths` as `element`.
    """
    if are_remote(paths):
        from penstock.storage.remote.fetcher import fetcher

        return [bytes(content) for content in fetcher().read([(path, 0, file_size(path)) for path in paths])]
    contents = read_regular_files(paths)
    for index, content in enumerate(contents):
        if content is None:  # empty, special and missing files
            try:
                contents[index] = read_file(paths[index])
            except OSError as error:
                error.element = index  # pyright: ignore[reportAttributeAccessIssue] - tells which element failed
                raise
    return cast("list[bytes]", contents)


def file_size(path: str) -> int:
    """Return the size of a local or remote file, in bytes."""
    return path.size if isinstance(path, RemoteFile) else os.path.getsize(path)


def is_file(path: str) -> bool:
    """Return whether there is a local file, or the path is that of a remote one."""
    return isinstance(path, RemoteFile) or os.path.isfile(path)


def read_extent(path: str, begin: int, end: int) -> bytes:
    """Return a part of a local or remote file; less, if a local file ends before."""
    if isinstance(path, RemoteFile):
        from penstock.storage.remote.fetcher import fetcher

        return bytes(fetcher().read([(path, begin, end)])[0])
    with open(path, "rb") as file:
        file.seek(begin)
        return file.read(end - begin)


def read_file(path: str) -> bytes:
    """Return the content of a file.

    An `OSError` keeps its type and always has the path as `filename`.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        error.add_note("the file has been moved or deleted since the dataset was made")
        raise
    try:
        size = os.fstat(descriptor).st_size
        content = os.read(descriptor, size)
        if size and len(content) == size:
            return content
        return content + _rest(descriptor)  # larger than one read, or a file of unknown size
    except OSError as error:
        error.filename = path
        raise
    finally:
        os.close(descriptor)


def _rest(descriptor: int) -> bytes:
    parts: list[bytes] = []
    while part := os.read(descriptor, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def advise_whole(paths: list[str]) -> None:
    """Ask the system to begin to read whole files, without waiting."""
    if are_remote(paths):
        advise_extents((path, 0, file_size(path)) for path in paths)
    else:
        advise_files(paths)


def advise_extents(extents: Iterable[Extent]) -> None:
    """Ask the system to begin to read parts of files, without waiting.

    Errors of a file are raised when it is read.
    """
    extents = list(extents)
    if are_remote([path for path, _, _ in extents[:1]]):
        from penstock.storage.remote.fetcher import fetcher

        fetcher().announce([(path, begin, min(end, file_size(path))) for path, begin, end in extents])
        return
    for path, of_file in groupby(sorted(extents), key=lambda extent: extent[0]):
        begins, ends = zip(*_joined(of_file), strict=True)
        advise_ranges(path, np.array(begins, np.int64), np.array(ends, np.int64))


def _joined(extents: Iterable[Extent]) -> list[tuple[int, int]]:
    """Return the bounds of sorted parts of one file, with nearby parts joined.

    >>> _joined([("a", 0, 5), ("a", 3, 9), ("a", 1000, 2000), ("a", 1 << 20, 1 << 21)])
    [(0, 2000), (1048576, 2097152)]
    """
    found: list[tuple[int, int]] = []
    for _, begin, end in extents:
        if found and begin <= found[-1][1] + _NEAR:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((begin, end))
    return found
