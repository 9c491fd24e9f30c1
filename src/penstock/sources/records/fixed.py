"""Records of a fixed length, with random access: as `bytes`, or read into the rows of an array."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.checks import check_count
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Columns
from penstock.elements.nested.structure import LEAF
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec
from penstock.kernels.records import RecordReader
from penstock.sources.records.files import ByReader
from penstock.sources.stream import content_of_files
from penstock.storage.records import open_records
from penstock.storage.state import FileState, OpenedAgain, states_of


@frozen(eq=False)
class FixedFiles(OpenedAgain, ByReader):
    """Consecutive records of `record_bytes`, after a header and before a footer, in some files.

    Elements are `bytes` or, with a `dtype` (as stored in the file), arrays of `shape` in the machine's byte order.
    """

    paths: list[str]
    states: list[FileState]
    record_bytes: int
    header_bytes: int
    footer_bytes: int
    dtype: np.dtype[Any] | None
    shape: tuple[int, ...]
    name: str

    @property
    def length(self) -> int:
        return len(self.reader)

    @property
    def file_starts(self) -> Rows:
        """The first record of each file."""
        return self.reader.starts

    @cached_property
    def reader(self) -> RecordReader:
        """The reader of the records."""
        first, step = self.header_bytes, self.record_bytes
        ends = [state.size - self.footer_bytes for state in self.states]
        counts = [max(end - first, 0) // step for end in ends]
        begins = [range(first, first + count * step, step) for count in counts]
        return self._reader(begins, [range(first + step, first + count * step + 1, step) for count in counts])

    def _reader(self, begins: Sequence[range], ends: Sequence[range]) -> RecordReader:
        sizes, times = [state.size for state in self.states], [state.mtime_ns for state in self.states]
        return open_records(self.paths, begins, ends, sizes, times)

    def spec(self) -> Spec:
        return ObjectSpec(bytes) if self.dtype is None else ArraySpec(self.shape, self.dtype.newbyteorder("="))

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        rows = np.ascontiguousarray(rows, np.int64)
        if self.dtype is None:
            return Columns(LEAF, [self.reader.read(rows)], len(rows))
        shape = (len(rows), *self.shape)
        into = out[0] if out else None
        if into is None or into.shape != shape or into.dtype != self.dtype or not into.flags.c_contiguous:
            into = np.empty(shape, self.dtype)
        self.reader.join(rows, lambda length, dtype: into.reshape(-1).view(np.uint8))
        return Columns(LEAF, [into.astype(self.dtype.newbyteorder("="), copy=False)], len(rows))

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        """The layout and type of the records, and a digest of the sizes and content of the files."""
        lies = (self.record_bytes, self.header_bytes, self.footer_bytes)
        return ("fixed", *lies, str(self.dtype), self.shape, content_of_files(self.paths))


def fixed_files(  # noqa: PLR0913 - files are written in many ways
    paths: list[str],
    record_bytes: int | None = None,
    *,
    header_bytes: int = 0,
    footer_bytes: int = 0,
    dtype: DTypeLike | None = None,
    shape: Sequence[int] | None = None,
    compressed: bool = False,
    torn: Collection[str] = (),
    call: str = "read_fixed_length",
) -> FixedFiles:
    """Return the records of files; raise a `DataError` if the size of an uncompressed file does not fit.

    For `torn` files, the records before the cut are read.
    """
    header = check_count(call, "header_bytes", header_bytes, least=0)
    footer = check_count(call, "footer_bytes", footer_bytes, least=0)
    length = None if record_bytes is None else check_count(call, "record_bytes", record_bytes, least=1)
    length, kind, sides = _layout(call, length, dtype, shape)
    states = [] if compressed else states_of(paths)
    for path, state in zip(paths, states, strict=not compressed):
        if path not in torn:
            _check_size(path, state.size, length, header, footer)
    name = f"{call}({paths[0]!r})" if len(paths) == 1 else f"{call}({len(paths)} files)"
    return FixedFiles(paths, states, length, header, footer, kind, sides, name)


def _layout(
    call: str, record_bytes: int | None, dtype: DTypeLike | None, shape: Sequence[int] | None
) -> tuple[int, np.dtype[Any] | None, tuple[int, ...]]:
    """Return the size, the dtype and the shape of a record; each may follow from the others."""
    if dtype is None:
        if shape is not None or record_bytes is None:
            missing = "record_bytes, or dtype and shape" if shape is None else f"dtype with shape={tuple(shape)}"
            raise PlanError(f"{call}: pass {missing}")
        return record_bytes, None, ()
    try:
        kind = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{call}(dtype={dtype!r}): expected a dtype of NumPy, such as '<f4'") from None
    if kind.hasobject or not kind.itemsize:
        raise PlanError(f"{call}(dtype={kind}): files cannot hold values of this dtype")
    if shape is not None:
        sides = tuple(check_count(call, "shape", side, least=1) for side in shape)
        needed = math.prod(sides) * kind.itemsize
        if record_bytes not in (None, needed):
            raise PlanError(
                f"{call}(record_bytes={record_bytes}): {kind}{list(sides)} has {needed} bytes; omit record_bytes="
            )
        return needed, kind, sides
    if record_bytes is None:
        return kind.itemsize, kind, ()
    if record_bytes % kind.itemsize:
        raise PlanError(
            f"{call}(record_bytes={record_bytes}): it is not a multiple of {kind.itemsize}, the size of {kind}"
        )
    count = record_bytes // kind.itemsize
    return record_bytes, kind, (count,) if count > 1 else ()


def _check_size(path: str, size: int, record_bytes: int, header: int, footer: int) -> None:
    body = size - header - footer
    around = f", a header of {header} and a footer of {footer}" if header or footer else ""
    if body < 0:
        raise DataError(f"{path} has {size} bytes, fewer than{around[1:]}")
    if body % record_bytes:
        raise DataError(
            f"{path} has {size} bytes, which is not a whole number of records of {record_bytes}{around}: "
            f"{body // record_bytes} and {body % record_bytes} bytes; it was cut short, or the given sizes are wrong"
        )
