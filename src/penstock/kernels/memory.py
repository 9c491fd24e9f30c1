"""Copies of chosen rows, and memory that is used again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.kernels import _native

_INT64 = np.dtype(np.int64)


class Begun(Protocol):
    """Native work that goes on beside whoever began it, without the GIL; once this dies, nothing of it goes on."""

    def wait(self) -> tuple[int, int]:
        """Return once it is done: what it took in ns, by the clock and on the processor."""
        ...


class Ahead(Protocol):
    """A queue of batches that native code makes ahead of whoever takes them, without the GIL, while this lives."""

    def __len__(self) -> int: ...
    def popleft(self) -> Any:
        """Take out the next batch, once it is made."""
        ...

    def took(self) -> tuple[int, int]:
        """What making them took so far in ns, by the clock and on the processor."""
        ...


SideThread: TypeAlias = _native.SideThread
"""A native thread that never takes the GIL, for one piece of work after another; it begins with the first of them.

It ends once nobody holds it, nor what was begun in it. A child of a fork begins another.
"""


class Pool:
    """Recycled memory for arrays: what an array and all its views leave behind serves the next one of its size.

    Memory is new only when no idle block of the size class is left, so a steady run allocates nothing and touches no
    new pages. At most `idle_limit` bytes are kept idle. Any thread may use it; arrays may outlive it; a fork leaves
    both sides whole.

    >>> pool = Pool(idle_limit=1 << 20)
    >>> array = pool.empty((4, 2), np.dtype("float32"))
    >>> del array
    >>> pool.bytes_live, pool.bytes_idle
    (0, 64)
    """

    __slots__ = ("_block", "_native")

    def __init__(self, idle_limit: int) -> None:
        if idle_limit < 0:
            raise ValueError(f"idle_limit must not be negative, not {idle_limit}")
        self._native = _native.Pool(min(idle_limit, _MOST_BYTES))
        self._block = self._native.block

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialised C-contiguous array at an address divisible by 64.

        Python objects cannot live here: `TypeError`. A size that the system refuses is a `MemoryError`.
        """
        if dtype.hasobject:
            raise TypeError(f"a pool holds plain values, not {dtype}")
        size = prod(shape) * dtype.itemsize
        if size < 0:
            raise ValueError(f"no dimension of {list(shape)} may be negative")
        if size > _MOST_BYTES:
            raise MemoryError(f"an array of {dtype}{list(shape)} needs {size} bytes")
        return np.ndarray(shape, dtype, self._block(size))

    def gather_ahead(
        self,
        sources: Sequence[NDArray[Any]],
        rows: Rows,
        batch: int,
        join: Callable[[list[NDArray[Any]]], Any],
        side: SideThread,
    ) -> Ahead | None:
        """Begin `gather` of the same rows of several arrays, `batch` rows to a batch, in another thread.

        It comes after what was begun there before. `sources` have shapes `(n, ...)`, `rows` are `int64[k]`. A batch is
        `join(arrays)`, an array `(batch, ...)` of each source; what that raises ends the queue. Up to 2 MiB of batches,
        or two, are made ahead of those taken, each in memory of its own from this pool.

        A row outside an array is an `IndexError`, and a `k` that is not so many whole batches a `ValueError`, raised
        here; for arrays that would take NumPy's own path it is `None`, and nothing is begun.

        >>> pool, rows = Pool(idle_limit=1 << 20), np.array([2, 0, 1, 1])
        >>> ahead = pool.gather_ahead([np.array([10, 11, 12])], rows, 2, tuple, SideThread())
        >>> len(ahead), ahead.popleft(), ahead.popleft()
        (2, (array([12, 10]),), (array([11, 11]),))
        """
        if rows.dtype != _INT64 or not rows.flags.c_contiguous:
            return None
        if any(source.dtype.hasobject or not source.flags.c_contiguous for source in sources):
            return None
        kinds = [((batch, *source.shape[1:]), source.dtype) for source in sources]
        return _native.Gathering(list(sources), rows, batch, np.ndarray, kinds, join, self._native, side)

    @property
    def bytes_live(self) -> int:
        """Bytes in arrays that are in use."""
        return self._native.bytes_live

    @property
    def bytes_idle(self) -> int:
        """Bytes kept for the next arrays."""
        return self._native.bytes_idle

    @property
    def bytes_peak(self) -> int:
        """The most bytes that were live and idle together."""
        return self._native.bytes_peak

    def trim(self) -> None:
        """Give idle memory back to the system."""
        self._native.trim()

    def close(self) -> None:
        """Keep nothing from now on: idle memory is freed now, and that of arrays as soon as they die."""
        self._native.close()


_MOST_BYTES = (1 << 63) - 1


def gather(source: NDArray[Any], rows: Rows, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return `source[rows]`, written to `out` if given; `source` has shape `(n, ...)`, the result `(k, ...)`.

    Unlike indexing it refuses negative rows. A row outside `[0, n)` is an `IndexError` that names it; `out` of another
    dtype or shape, or sharing memory with `source`, is a `ValueError`. Long copies run without the GIL. Object arrays
    and arrays that are not C-contiguous take NumPy's own path, which is slower.

    >>> gather(np.array([10, 11, 12]), np.array([2, 0])).tolist()
    [12, 10]
    """
    if rows.dtype is not _INT64 and rows.dtype != _INT64:
        raise TypeError(f"rows must be an array of int64, not of {rows.dtype}")
    dtype = source.dtype
    shape = (len(rows), *source.shape[1:])
    if out is None:
        out = np.empty(shape, dtype)
    elif out.shape != shape or (out.dtype is not dtype and out.dtype != dtype):
        raise ValueError(f"out must be {dtype}{list(shape)}, not {out.dtype}{list(out.shape)}")
    if dtype.hasobject or not (source.flags.c_contiguous and rows.flags.c_contiguous and out.flags.c_contiguous):
        return _take(source, rows, out)
    _native.gather(source, rows, out)
    return out


def _take(source: NDArray[Any], rows: Rows, out: NDArray[Any]) -> NDArray[Any]:
    if len(rows) and (rows.min() < 0 or rows.max() >= len(source)):
        bad = rows[(rows < 0) | (rows >= len(source))][0]
        raise IndexError(f"row {bad} is outside [0, {len(source)})")
    if np.shares_memory(source, out):
        raise ValueError("out must not overlap the source")
    out[...] = source[rows]
    return out
