"""Read local files."""

from __future__ import annotations

import os
from typing import cast

from penstock.kernels import read_regular_files

_FLAGS = os.O_RDONLY | os.O_CLOEXEC


def read_files(paths: list[str]) -> list[bytes]:
    """Return the content of each file.

    An `OSError` of one keeps its type, carries its path in `filename`, and its index in `paths` as `element`.
    """
    contents = read_regular_files(paths)
    for index, content in enumerate(contents):
        if content is None:  # what only Python's way of reading can do, or say
            try:
                contents[index] = read_file(paths[index])
            except OSError as error:
                error.element = index  # pyright: ignore[reportAttributeAccessIssue] - how a source says which it was
                raise
    return cast("list[bytes]", contents)


def read_file(path: str) -> bytes:
    """Return the content of a file.

    An `OSError` keeps its type and always carries the path in `filename`.
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
        return content + _rest(descriptor)  # more than one read takes, or a file that does not know its size
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
