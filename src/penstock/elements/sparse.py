"""Arrays that are mostly zero as one leaf: the indices of the other values, and the values."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from itertools import islice
from math import prod
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.elements.leaves.offsets import begins, offset_positions, position, spread
from penstock.elements.leaves.sparse_exchange import SparseExchange
from penstock.elements.leaves.values import as_values, empty_value, end_to_end, memory, own, read_only
from penstock.kernels import gather

_MOST_SHOWN = 6  # values in a repr


class Sparse(SparseExchange):
    """An array of `dense_shape` given by some of its values, at `indices`: `int64[n, ndim]`, in row-major order.

    Values not given are zero (or an empty string); zeros may be given too. An index outside the shape, a duplicate, or
    one out of order raises an `ElementError`; `from_coo` sorts. Elements and slices along the first dimension are
    `Sparse`; an element of one dimension is a number. `==` compares contents and types, given zeros too, and returns
    one `bool`.

    >>> grid = Sparse([[0, 1], [2, 0]], np.float32([5, 7]), (3, 2))
    >>> grid
    Sparse({(0, 1): 5.0, (2, 0): 7.0}, float32[3, 2])
    >>> grid[2], grid.to_dense().tolist()
    (Sparse({(0,): 7.0}, float32[2]), [[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]])
    """

    __slots__ = ("_indices", "_shape", "_splits", "_values")
    __penstock_leaf__: ClassVar[bool] = True
    __array_ufunc__ = None  # `array == sparse` calls our `__eq__`
    __hash__: ClassVar[None] = None  # type: ignore[assignment] - as of everything that can be written to

    def __init__(self, indices: Any, values: Any, dense_shape: Sequence[int]) -> None:
        self._shape = _checked_shape(dense_shape)
        self._values = as_values(values, call="Sparse")
        self._indices = _checked_indices(indices, self._values, self._shape)
        keys = _keys(self._indices, self._shape)
        wrong = np.flatnonzero(keys[1:] <= keys[:-1])
        if len(wrong):
            one, two = self._indices[wrong[0] : wrong[0] + 2].tolist()
            problem = "comes twice" if one == two else f"comes before {two}"
            raise ElementError(
                f"Sparse: index {one} {problem}: indices must be unique and in row-major order; from_coo() sorts them"
            )
        self._splits: NDArray[np.int64] | None = None

    # Constructors

    @classmethod
    def from_coo(cls, coordinates: Sequence[Any], values: Any, dense_shape: Sequence[int]) -> Self:
        """Return a sparse array of values in any order, given one array of coordinates per dimension.

        >>> Sparse.from_coo(([2, 0], [0, 1]), [7, 5], (3, 2))
        Sparse({(0, 1): 5, (2, 0): 7}, int64[3, 2])
        """
        shape, given = _checked_shape(dense_shape), as_values(values, call="Sparse.from_coo")
        columns = [np.asarray(column) for column in coordinates]
        if len(columns) != len(shape) or any(column.shape != (len(given),) for column in columns):
            raise ElementError(
                f"Sparse.from_coo: expected {len(shape)} arrays of {len(given)} coordinates, not shapes "
                f"{[column.shape for column in columns]}"
            )
        indices = _checked_indices(np.stack(columns, axis=1), given, shape)
        order = np.argsort(_keys(indices, shape), kind="stable")
        return cls(indices[order], given[order], shape)

    @staticmethod
    def from_dense(array: Any) -> Sparse:
        """Return the nonzero values of an array.

        >>> Sparse.from_dense([[0, 5], [0, 0]])
        Sparse({(0, 1): 5}, int64[2, 2])
        """
        dense = np.asarray(array)
        if dense.ndim == 0:
            raise ElementError("Sparse.from_dense: a number has no dimensions")
        kept = dense != empty_value(dense)
        return make_sparse(np.argwhere(kept).astype(np.int64, copy=False), dense[kept], dense.shape)

    @staticmethod
    def from_csr(values: Any, columns: Any, row_splits: Any, dense_shape: Sequence[int]) -> Sparse:
        """Return two dimensions from compressed rows: row i has the values `row_splits[i]` to `row_splits[i + 1]`.

        >>> Sparse.from_csr([5, 7], [1, 0], [0, 1, 1, 2], (3, 2))
        Sparse({(0, 1): 5, (2, 0): 7}, int64[3, 2])
        """
        splits = np.asarray(row_splits, np.int64)
        if len(dense_shape) != 2 or splits.shape != (dense_shape[0] + 1,) or (np.diff(splits) < 0).any():
            raise ElementError(
                f"Sparse.from_csr: row_splits of shape {splits.shape} for {tuple(dense_shape)}: expected one more than "
                "the number of rows, never decreasing"
            )
        rows = np.repeat(np.arange(dense_shape[0]), np.diff(splits))
        return Sparse.from_coo((rows, columns), values, dense_shape)

    # Properties

    @property
    def indices(self) -> NDArray[np.int64]:
        """The indices of the values, `int64[n, ndim]`, in row-major order."""
        return self._indices

    @property
    def values(self) -> NDArray[Any]:
        """The given values, of shape (n,)."""
        return self._values

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of the whole array."""
        return self._shape

    shape = dense_shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._values.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._shape)

    @property
    def nbytes(self) -> int:
        """The bytes of the indices and values."""
        return self._indices.nbytes + self._values.nbytes

    @property
    def writeable(self) -> bool:
        """True if values and indices are writeable."""
        return all(array.flags.writeable for array in self.arrays())

    @property
    def row_splits(self) -> NDArray[np.int64]:
        """The range of values of each row: row i has values `row_splits[i]` to `row_splits[i + 1]`."""
        if self._splits is None:
            self._splits = begins(np.bincount(self._indices[:, 0], minlength=len(self)))
        return self._splits

    def csr(self) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
        """Return two dimensions as compressed rows: the values, their columns, and the row splits.

        >>> [part.tolist() for part in Sparse.from_dense([[0, 5], [0, 0], [7, 0]]).csr()]
        [[5, 7], [1, 0], [0, 1, 1, 2]]
        """
        if self.ndim != 2:
            raise ElementError(f"Sparse.csr: compressed rows have two dimensions, but this array has {self.ndim}")
        return self._values, self._indices[:, 1], self.row_splits

    # Rows

    def __len__(self) -> int:
        return self._shape[0]

    @overload
    def __getitem__(self, rows: int) -> Any: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[int] | NDArray[Any]) -> Sparse: ...
    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            low, high, step = rows.indices(len(self))
            return self._between(low, max(low, high)) if step == 1 else self.take(np.arange(low, high, step))
        if isinstance(rows, list | np.ndarray):
            return self.take(offset_positions(rows, len(self)))
        row = position(rows, len(self))
        low, high = self.row_splits[row], self.row_splits[row + 1]
        if self.ndim == 1:
            return self._values[low] if high > low else self.dtype.type(empty_value(self._values))
        return make_sparse(self._indices[low:high, 1:], self._values[low:high], self._shape[1:])

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(len(self)))

    def take(self, rows: NDArray[np.int64], allocate: Allocate = np.empty) -> Sparse:
        """Return a copy of the rows at these positions, in that order."""
        starts = self.row_splits[rows]
        lengths = self.row_splits[rows + 1] - starts
        at = spread(starts, lengths)
        indices = gather(self._indices, at)
        indices[:, 0] = np.repeat(np.arange(len(rows)), lengths)
        values = gather(self._values, at, memory((len(at),), self.dtype, allocate))
        return make_sparse(indices, values, (len(rows), *self._shape[1:]))

    def _between(self, low: int, high: int) -> Sparse:
        first, last = self.row_splits[low], self.row_splits[high]
        indices = self._indices[first:last]
        if low:
            indices = indices - np.eye(1, self.ndim, dtype=np.int64) * low  # rows count from the first one taken
        return make_sparse(indices, self._values[first:last], (high - low, *self._shape[1:]))

    # Combining

    @staticmethod
    def stack(parts: Sequence[Sparse], allocate: Allocate = np.empty, *, shape: Sequence[int] | None = None) -> Sparse:
        """Return arrays of equal dtype stacked along a new first dimension, each padded to `shape` if given: a copy.

        >>> Sparse.stack([Sparse.from_dense([0, 5]), Sparse.from_dense([7, 0])])
        Sparse({(0, 1): 5, (1, 0): 7}, int64[2, 2])
        """
        shapes = {part.dense_shape for part in parts}
        whole = next(iter(shapes), ()) if shape is None else _checked_shape(shape)
        if not shapes or any(
            own != whole if shape is None else len(own) != len(whole) or any(map(operator.gt, own, whole))
            for own in shapes
        ):
            within = "together" if shape is None else f"into {whole}"
            raise ElementError(f"Sparse.stack: parts of shapes {sorted(shapes)} do not fit {within}")
        counts = [len(part.values) for part in parts]
        which = np.repeat(np.arange(len(parts), dtype=np.int64), counts)
        indices = np.concatenate([part.indices for part in parts])
        values = end_to_end([part.values for part in parts], allocate)
        return make_sparse(np.column_stack([which, indices]), values, (len(parts), *whole))

    @staticmethod
    def concatenate(parts: Sequence[Sparse], allocate: Allocate = np.empty) -> Sparse:
        """Return the rows of all parts, one part after another: a copy.

        >>> Sparse.concatenate([Sparse.from_dense([0, 5]), Sparse.from_dense([7])])
        Sparse({(1,): 5, (2,): 7}, int64[3])
        """
        if len({part.dense_shape[1:] for part in parts}) != 1:
            raise ElementError(f"Sparse: parts of shapes {[part.dense_shape for part in parts]} do not fit together")
        firsts = begins(list(map(len, parts)))
        indices = np.concatenate([part.indices for part in parts])
        indices[:, 0] += np.repeat(firsts[:-1], [len(part.values) for part in parts])
        shape = (int(firsts[-1]), *parts[0].dense_shape[1:])
        return make_sparse(indices, end_to_end([part.values for part in parts], allocate), shape)

    def fold(self, size: int) -> Sparse:
        """Group every `size` rows into one, in one more dimension; the number of rows must be a multiple."""
        outer, inner = np.divmod(self._indices[:, :1], size)
        indices = np.concatenate([outer, inner, self._indices[:, 1:]], axis=1)
        return make_sparse(indices, self._values, (len(self) // size, size, *self._shape[1:]))

    def owned(self, allocate: Allocate = np.empty) -> Sparse:
        """Return the object itself if it is writeable, otherwise a writeable copy."""
        return self if self.writeable else make_sparse(own(self._indices), own(self._values, allocate), self._shape)

    def frozen(self) -> Sparse:
        """Return a read-only view of the same memory."""
        return make_sparse(read_only(self._indices), read_only(self._values), self._shape)

    # Conversions

    def to_dense(self, fill: Any = None) -> NDArray[Any]:
        """Return the whole array, with `fill` for values not given: by default zero, `False` or an empty string."""
        dense = np.full(self._shape, empty_value(self._values) if fill is None else fill, self.dtype)
        dense[tuple(self._indices.T)] = self._values
        return dense

    def resized(self, dense_shape: Sequence[int]) -> Sparse:
        """Return the same values in an array of another shape, into which every value must fit."""
        shape = _checked_shape(dense_shape)
        return make_sparse(_checked_indices(self._indices, self._values, shape), self._values, shape)

    # Value semantics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sparse):
            return NotImplemented
        pairs = zip(self.arrays(), other.arrays(), strict=True)
        return self._shape == other.dense_shape and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in pairs)

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that make up the object: the values and their indices."""
        return self._values, self._indices

    def fingerprint(self) -> tuple[Any, ...]:
        """Return a value that identifies the object."""
        return ("sparse", self._shape, *self.arrays())

    def __reduce__(self) -> tuple[Any, ...]:
        return make_sparse, (self._indices, self._values, self._shape)

    def __repr__(self) -> str:
        given = zip(self._indices.tolist(), self._values.tolist(), strict=True)
        cells = [f"{tuple(index)}: {value!r}" for index, value in islice(given, _MOST_SHOWN)]
        if len(self._values) > _MOST_SHOWN:
            cells.append(f"{len(self._values) - _MOST_SHOWN:,} more")
        return f"Sparse({{{', '.join(cells)}}}, {self.dtype}{list(self._shape)})"


def make_sparse(indices: NDArray[np.int64], values: NDArray[Any], shape: tuple[int, ...]) -> Sparse:
    """Build from parts that are known to fit."""
    sparse = object.__new__(Sparse)
    sparse._indices, sparse._values, sparse._shape = indices, values, shape  # pyright: ignore[reportPrivateUsage]
    sparse._splits = None  # pyright: ignore[reportPrivateUsage]
    return sparse


def _checked_shape(dense_shape: Sequence[int]) -> tuple[int, ...]:
    try:
        shape = tuple(map(operator.index, dense_shape))
    except TypeError:
        raise TypeError(f"Sparse(dense_shape={dense_shape!r:.80}): expected a list of sizes") from None
    if not shape or min(shape) < 0 or prod(shape) >= 1 << 63:
        raise ElementError(f"Sparse: dense_shape {shape}: expected one or more sizes of at least 0, below 2**63 in all")
    return shape


def _checked_indices(indices: Any, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[np.int64]:
    found = np.asarray(indices)
    if not found.size:
        found = found.reshape(-1, len(shape)).astype(np.int64)
    if values.ndim != 1 or found.dtype.kind not in "iu" or found.shape != (len(values), len(shape)):
        raise ElementError(
            f"Sparse: indices {found.dtype}{list(found.shape)} for values {values.dtype}{list(values.shape)}: expected "
            f"whole numbers of shape {[len(values), len(shape)]}, and values of one dimension"
        )
    outside = ((found < 0) | (found >= np.array(shape))).any(axis=1)
    if outside.any():
        raise ElementError(f"Sparse: index {found[outside][0].tolist()} is outside the shape {list(shape)}")
    return found.astype(np.int64, copy=False)


def _keys(indices: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the position of each index in row-major order."""
    if not indices.size:
        return np.zeros(0, np.int64)
    return np.asarray(np.ravel_multi_index(tuple(indices.T), shape), np.int64)
