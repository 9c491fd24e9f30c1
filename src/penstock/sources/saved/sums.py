"""The checksums of a saved dataset: one for each block of each file, verified when the block is first read."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.kernels.records import crc32c
from penstock.sources.saved.manifest import CHECKSUM_BLOCK, SUMS, Manifest, read_manifest


class Sums(NamedTuple):
    """The checksums of a file: `values[i]` is that of its i-th `block` bytes."""

    values: NDArray[np.uint32]
    block: int

    def span(self, begins: Rows, ends: Rows) -> tuple[Rows, Rows]:
        """Return the first and last block of the bytes from `begins[i]` to `ends[i]`, or of the first byte."""
        most = max(len(self.values) - 1, 0)
        first = np.clip(begins // self.block, 0, most)
        return first, np.clip((np.maximum(ends, begins + 1) - 1) // self.block, first, most)

    def matches(self, block: int, content: Any) -> bool:
        """Return whether this is the content of a block."""
        return crc32c(content) == self.values[block]

    def damage(self, path: str, block: int, element: int) -> DataError:
        """Return the error of a damaged block, which an element needs."""
        error = DataError(
            f"{path} is damaged: its bytes from {block * self.block:,} on do not have their checksum (CRC-32C); copy "
            "the whole folder again, or save it again"
        )
        error.element = element
        return error


def write_sums(folder: str, names: Sequence[str]) -> int:
    """Write the checksums of the blocks of some files, one file after another; return the checksum of these."""
    found: list[int] = []
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            while block := file.read(CHECKSUM_BLOCK):
                found.append(crc32c(block))
    content = np.array(found, "<u4").tobytes()
    with open(os.path.join(folder, SUMS), "wb") as file:
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
    try:
        return parsed_sums(path, content, manifest)
    except DataError:
        if read_manifest(folder) == manifest:
            raise
    raise DataError(f"{folder} was replaced after it was loaded, as save(overwrite=True) does; load it again")


def parsed_sums(path: str, content: bytes, manifest: Manifest) -> dict[str, Sums]:
    """Return the checksums of the blocks of each file, from the content of the file that has them."""
    names = manifest.files
    counts = [-(-manifest.sizes[name] // manifest.block) for name in names]
    if len(content) != 4 * sum(counts) or crc32c(content) != manifest.crc32c:
        raise DataError(f"{path} is missing or damaged; copy the whole folder again, or save it again")
    sums, ends = np.frombuffer(content, "<u4"), np.cumsum(counts, dtype=np.int64).tolist()
    bounds = zip(names, counts, ends, strict=True)
    return {name: Sums(sums[end - count : end], manifest.block) for name, count, end in bounds}


class CheckedBlocks:
    """The blocks of the content of a file, each verified against its checksum once.

    Several threads may verify a block at the same time, with the same result.
    """

    def __init__(self, path: str, content: NDArray[np.uint8], sums: Sums | None) -> None:
        self._path = path
        self._content = content
        self._sums = sums
        self._left = 0 if sums is None else len(sums.values)
        self._seen = np.zeros(self._left, np.bool_)
        self._counting = threading.Lock()

    def check(self, begins: Rows, ends: Rows) -> None:
        """Verify the blocks with the bytes from `begins[i]` to `ends[i]`.

        Raise a `DataError` for a damaged block, with the first i that needs the block as `element`.
        """
        if not self._left or not len(begins) or (sums := self._sums) is None:
            return
        first, last = sums.span(begins, ends)
        wanted = np.unique(blocks_between(first, last))
        new = wanted[~self._seen[wanted]]
        for block in new.tolist():
            begin = block * sums.block
            if not sums.matches(block, self._content[begin : begin + sums.block]):
                raise sums.damage(self._path, block, int(((first <= block) & (block <= last)).argmax()))
        with self._counting:
            self._left -= int(np.count_nonzero(~self._seen[new]))
            self._seen[new] = True


def blocks_between(first: Rows, last: Rows) -> Rows:
    """Return the numbers from each `first[i]` to `last[i]`, one after another.

    >>> blocks_between(np.array([3, 0]), np.array([4, 2])).tolist()
    [3, 4, 0, 1, 2]
    """
    counts = last - first + 1
    return np.repeat(last + 1 - np.cumsum(counts), counts) + np.arange(counts.sum())
