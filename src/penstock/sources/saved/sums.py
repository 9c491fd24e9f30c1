"""The checksums of a saved dataset: one for each block of each file, verified when the block is first read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.kernels.records import crc32c
from penstock.sources.saved.manifest import CHECKSUM_BLOCK, SUMS, Manifest

Sums = NDArray[np.uint32]


def write_sums(folder: str, names: Sequence[str], to: str = SUMS) -> int:
    """Write the checksums of the blocks of some files, one file after another; return the checksum of these."""
    found: list[int] = []
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            while block := file.read(CHECKSUM_BLOCK):
                found.append(crc32c(block))
    content = np.array(found, "<u4").tobytes()
    with open(os.path.join(folder, to), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return crc32c(content)


def read_sums(folder: str, manifest: Manifest) -> dict[str, Sums]:
    """Return the checksums of the blocks of each file; none for a dataset saved without checksums."""
    if manifest.crc32c is None:
        return {}
    path = os.path.join(folder, manifest.sums)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        content = b""
    return parsed_sums(path, content, manifest)


def parsed_sums(path: str, content: bytes, manifest: Manifest) -> dict[str, Sums]:
    """Return the checksums of the blocks of each file, from the content of the file that has them."""
    names = manifest.files
    counts = [-(-manifest.sizes[name] // CHECKSUM_BLOCK) for name in names]
    if len(content) != 4 * sum(counts) or crc32c(content) != manifest.crc32c:
        raise DataError(f"{path} is missing or damaged; copy the whole folder again, or save it again")
    sums, ends = np.frombuffer(content, "<u4"), np.cumsum(counts, dtype=np.int64)
    return {name: sums[end - count : end] for name, count, end in zip(names, counts, ends.tolist(), strict=True)}


class Sliced(Protocol):
    """The bytes of a file, in parts."""

    def __getitem__(self, part: slice, /) -> Any: ...


class CheckedBlocks:
    """The blocks of a file, whose parts `content` has, each verified against its checksum once.

    Several threads may verify a block at the same time, with the same result.
    """

    def __init__(self, path: str, content: Sliced, sums: Sums | None) -> None:
        self._path = path
        self._content = content
        self._sums = sums
        self._left = 0 if sums is None else len(sums)
        self._seen = np.zeros(self._left, np.bool_)

    def check(self, begins: Rows, ends: Rows) -> None:
        """Verify the blocks with the bytes from `begins[i]` to `ends[i]`.

        Raise a `DataError` for a damaged block, with the first i that needs the block as `element`.
        """
        if not self._left or not len(begins):
            return
        most = len(self._seen) - 1
        first = np.clip(begins // CHECKSUM_BLOCK, 0, most)
        last = np.clip((np.maximum(ends, begins + 1) - 1) // CHECKSUM_BLOCK, first, most)
        wanted = np.zeros(
            len(self._seen) + 1, np.int64
        )  # number of parts that begin in a block minus those that ended before
        np.add.at(wanted, first, 1)
        np.add.at(wanted, last + 1, -1)
        for block in np.flatnonzero((np.cumsum(wanted[:-1]) > 0) & ~self._seen).tolist():
            self._look(block, first, last)
        self._left = len(self._seen) - int(np.count_nonzero(self._seen))

    def _look(self, block: int, first: Rows, last: Rows) -> None:
        begin = block * CHECKSUM_BLOCK
        if self._sums is None or crc32c(self._content[begin : begin + CHECKSUM_BLOCK]) == self._sums[block]:
            self._seen[block] = True
            return
        error = DataError(
            f"{self._path} is damaged: its bytes from {begin:,} on do not have their checksum (CRC-32C); copy the "
            "whole folder again, or save it again"
        )
        error.element = int(((first <= block) & (block <= last)).argmax())
        raise error
