"""Copies of chosen rows, and recycled memory."""

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
    """Native work in the background, without the GIL, which stops when this object dies."""

    def wait(self) -> tuple[int, int]:
        """Wait for the work, and return its wall and CPU time in ns."""
        ...


class Ahead(Protocol):
    """A queue of batches that native code makes ahead of demand, without the GIL, while this object lives."""

    def __len__(self) -> int: ...
    def popleft(self) -> Any:
        """Wait for the next batch, and return it."""
        ...

    def took(self) -> tuple[int, int]:
        """Return the wall and CPU time of making batches so far, in ns."""
        ...


SideThread: TypeAlias = _native.SideThread
"""A native thread that never takes the GIL, for one piece of work after another, started by the first.

The thread ends when neither this object nor its work is referenced. A child of a fork starts another.
"""


class Pool:
    """Recycled memory for arrays: the memory of an array, once all its views are gone, serves the next of its size.

    Memory is new only when no idle block of the size class is left, so a steady run allocates nothing and touches no
    new pages. At most `idle_limit` bytes are kept idle. Any thread may use it; arrays may outlive it; a fork keeps both
    sides valid.

    >>> pool = Pool(idle_limit=1 << 20)
    >>> array = pool.empty((4, 2), np.dtype("float32"))
    >>> del array
    >>> pool.bytes_live, pool.bytes_idle
    (0, 64)
    """

    __slots__ = ("_block", "_native")

    def __init__(self, idle_limit: int) -> None:
        if idle_limit < 0:
            raise ValueError(f"idle_limit is {idle_limit}; expected at least 0")
        self._native = _native.Pool(min(idle_limit, _MOST_BYTES))
        self._block = self._native.block

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an uninitialized C-contiguous array at an address divisible by 64.

        A dtype of Python objects raises a `TypeError`, and a size that the system refuses a `MemoryError`.
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

        The work starts after earlier work of that thread. `sources` have shapes `(n, ...)`, `rows` are `int64[k]`. A
        batch is `join(arrays)`, with an array `(batch, ...)` of each source; an error of `join` ends the queue. Up to 2
        MiB of batches, or two, are made ahead, each in separate memory from this pool.

        A row outside an array raises an `IndexError`, and a `k` that is not a multiple of `batch` a `ValueError`, both
        here; for arrays that need NumPy's own path the result is `None`, and nothing begins.

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
        """Bytes of arrays in use."""
        return self._native.bytes_live

    @property
    def bytes_idle(self) -> int:
        """Bytes kept for the next arrays."""
        return self._native.bytes_idle

    @property
    def bytes_peak(self) -> int:
        """The peak of live and idle bytes together."""
        return self._native.bytes_peak

    def trim(self) -> None:
        """Return idle memory to the system."""
        self._native.trim()

    def close(self) -> None:
        """Stop recycling: free idle memory now, and the memory of each array when it dies."""
        self._native.close()


_MOST_BYTES = (1 << 63) - 1


def gather(source: NDArray[Any], rows: Rows, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return `source[rows]`, written to `out` if given; `source` has shape `(n, ...)`, the result `(k, ...)`.

    Unlike indexing, negative rows are refused. A row outside `[0, n)` raises an `IndexError` that names the row; `out`
    of another dtype or shape, or sharing memory with `source`, raises a `ValueError`. Long copies run without the GIL.
    Object arrays and arrays that are not C-contiguous take NumPy's own path, which is slower.

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


def gather_several(
    sources: Sequence[NDArray[Any]], owners: Rows, rows: Rows, places: Rows, out: NDArray[Any]
) -> NDArray[Any]:
    """Write row `rows[i]` of source `owners[i]` to `out[places[i]]` for each `i`, and return `out`.

    The sources have shapes `(n, ...)` and the dtype of `out`, which has the shape `(m, ...)`; `owners`, `rows` and
    `places` are `int64[k]`. Other places of `out` stay as they are; no place may come twice. A number outside its range
    raises an `IndexError`, and arrays of other dtypes or shapes, or sharing memory with `out`, a `ValueError`. Long
    copies run without the GIL.

    >>> sources = [np.array([10, 11]), np.array([20, 21, 22])]
    >>> gather_several(sources, np.array([1, 0]), np.array([2, 1]), np.array([0, 2]), np.zeros(3, np.int64)).tolist()
    [22, 0, 11]
    """
    row, dtype = out.shape[1:], out.dtype
    if any(each.dtype != dtype or each.shape[1:] != row for each in sources):
        raise ValueError(f"each source must have rows of {dtype}{list(row)}, as out has")
    if dtype.hasobject or not (out.flags.c_contiguous and all(each.flags.c_contiguous for each in sources)):
        for number, source in enumerate(sources):
            mine = owners == number
            out[places[mine]] = gather(source, rows[mine])
    else:
        _native.gather_several(list(sources), owners, rows, places, out)
    return out


def _take(source: NDArray[Any], rows: Rows, out: NDArray[Any]) -> NDArray[Any]:
    if len(rows) and (rows.min() < 0 or rows.max() >= len(source)):
        bad = rows[(rows < 0) | (rows >= len(source))][0]
        raise IndexError(f"row {bad} is outside [0, {len(source)})")
    if np.shares_memory(source, out):
        raise ValueError("out must not overlap the source")
    out[...] = source[rows]
    return out
