"""What a source offers whose files can only be read from their beginning on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from penstock.core.digest import hasher
from penstock.elements.chunk import Chunk
from penstock.elements.spec import Spec
from penstock.storage.sidecar import Stamp

LARGEST = 1 << 30
"""Bytes that one element of a compressed file may have."""
READ_AT_ONCE = 1 << 20
"""Bytes of content that are read at a time, where no element is larger."""


class Stream(Protocol):
    """Elements of files in order: immutable and picklable; several files may be read side by side."""

    @property
    def name(self) -> str:
        """A short label for `explain()`: the call that made the source."""
        ...

    @property
    def paths(self) -> Sequence[str]:
        """The files, in their order."""
        ...

    def spec(self) -> Spec:
        """Return the spec of one element, or `None` where only reading one can tell."""
        ...

    def read(self, file: int, /) -> Iterator[Chunk]:
        """Yield the elements of a file, by its number, from the first on."""
        ...

    def fingerprint(self) -> tuple[Any, ...]:
        """Return what identifies the data: small, equal in every process."""
        ...


def content_of_files(paths: Sequence[str]) -> str:
    """Return a digest of the sizes and of parts of the content of files, in their order."""
    hashed = hasher()
    for path in paths:
        stamp = Stamp.of(path)
        hashed.update(f"{stamp.size} {stamp.digest} ".encode())
    return hashed.hexdigest()
