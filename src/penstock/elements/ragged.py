"""Rows of different lengths as one leaf: all values end to end, and the start of each row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import prod
from typing import Any, ClassVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.elements.leaves.masked import refuse_masked
from penstock.elements.leaves.offsets import (
    alike,
    begins,
    checked_splits,
    offset_positions,
    position,
    split_dtype,
    spread,
)
from penstock.elements.leaves.ragged_exchange import RaggedExchange
from penstock.elements.leaves.values import as_values, empty_value, end_to_end, memory, own, read_only
from penstock.kernels import gather

_MOST_SHOWN = 6  # rows, and values of a row, in a repr


class Ragged(RaggedExchange):
    """Rows of different lengths: `values` of all rows end to end; row i is `values[row_splits[i]:row_splits[i + 1]]`.

    If `values` are themselves `Ragged`, there is one more ragged dimension. Dimensions after the ragged ones are
    uniform, in the shape of the values. A row is an array, or `Ragged` if there are several ragged dimensions; rows and
    slices are views. Splits are `int64`, or `int32` if given so; splits that decrease, or do not end with the number of
    values, raise an `ElementError`. `==` compares contents and types and returns one `bool`.

    >>> words = Ragged(np.arange(5), [0, 2, 2, 5])
    >>> words
    Ragged([[0, 1], [], [2, 3, 4]], int64[3, ~])
    >>> words[2], len(words), Ragged(words, [0, 1, 3]).tolist()
    (array([2, 3, 4]), 3, [[[0, 1]], [[], [2, 3, 4]]])
    """

    __slots__ = ("_splits", "_values")
    __penstock_leaf__: ClassVar[bool] = True
    __array_ufunc__ = None  # `array == ragged` calls our `__eq__`
    __hash__: ClassVar[None] = None  # type: ignore[assignment] - as of everything that can be written to

    def __init__(self, values: Any, row_splits: Any) -> None:
        inner: tuple[NDArray[Any], ...] = ()
        if isinstance(values, Ragged):
            flat, inner, count = values.flat_values, values.nested_row_splits, len(values)
        else:
            flat = as_values(values, call="Ragged")
            count = len(flat)
        self._values = flat
        self._splits = alike((checked_splits(row_splits, count), *inner))

    # Constructors

    @staticmethod
    def from_rows(rows: Iterable[Any], dtype: DTypeLike | None = None) -> Ragged:
        """Return rows given one by one: arrays, lists of numbers or text, or lists of rows for more ragged dimensions.

        Arrays must agree in dtype and in every dimension but the first, and are not cast; numbers in lists become
        `dtype`, by default the dtype that NumPy finds for all of them.

        >>> Ragged.from_rows([[1], [], [2, 3]])
        Ragged([[1], [], [2, 3]], int64[3, ~])
        >>> Ragged.from_rows([np.zeros((1, 2)), np.ones((2, 2))]).shape
        (2, None, 2)
        """
        given = list(rows)
        for i, row in enumerate(given):
            if isinstance(row, str | bytes) or not isinstance(row, Iterable) or getattr(row, "ndim", 1) == 0:
                raise ElementError(f"Ragged.from_rows: row {i} is {row!r:.40}, not an array or a list of values")
        if given and all(isinstance(row, Ragged) for row in given):
            return Ragged.stack(given)
        for row in given:
            refuse_masked(row, "Ragged.from_rows: a masked array")
        if given and dtype is None and all(isinstance(row, np.ndarray) for row in given):
            return _made(end_to_end(given, np.empty), (begins([len(row) for row in given]),))
        lists = [list(row) for row in given]
        cells = [cell for row in lists for cell in row]
        deeper = bool(cells) and all(isinstance(cell, list | tuple) or getattr(cell, "ndim", 0) > 0 for cell in cells)
        values = Ragged.from_rows(cells, dtype) if deeper else as_values(cells, dtype, call="Ragged.from_rows")
        return Ragged(values, begins([len(row) for row in lists]))

    @staticmethod
    def from_row_lengths(values: Any, lengths: Any) -> Ragged:
        """Return the values cut into rows of these lengths.

        >>> Ragged.from_row_lengths([1, 2, 3], [1, 2])
        Ragged([[1], [2, 3]], int64[2, ~])
        """
        return Ragged(values, begins(lengths))

    @staticmethod
    def from_dense(array: Any, lengths: Any = None, *, padding: Any = None) -> Ragged:
        """Return the rows of an array of shape (k, n, ...), cut to `lengths`, or before trailing `padding`.

        >>> Ragged.from_dense([[1, 2], [3, 0]], padding=0)
        Ragged([[1, 2], [3]], int64[2, ~])
        """
        dense = np.asarray(array)
        if dense.ndim < 2:
            raise ElementError(f"Ragged.from_dense: expected two dimensions or more, not shape {dense.shape}")
        count, widest = dense.shape[:2]
        if lengths is not None:
            kept = np.asarray(lengths, np.int64)
            if kept.shape != (count,) or (count and not 0 <= int(kept.min()) <= int(kept.max()) <= widest):
                raise ElementError(
                    f"Ragged.from_dense: expected {count} lengths from 0 to {widest}, not {lengths!r:.60}"
                )
        elif padding is not None:
            real = (dense != padding).any(axis=tuple(range(2, dense.ndim)))  # bool[count, widest]
            kept = (real * np.arange(1, widest + 1)).max(axis=1, initial=0)
        else:
            kept = np.full(count, widest, np.int64)
        return _made(dense[np.arange(widest) < kept[:, None]], (begins(kept),))

    # Properties

    @property
    def values(self) -> Any:
        """The values that rows are cut from: an array, or `Ragged` if there are several ragged dimensions."""
        return _made(self._values, self._splits[1:]) if len(self._splits) > 1 else self._values

    @property
    def flat_values(self) -> NDArray[Any]:
        """All values end to end, of shape (n, ...) with the uniform inner dimensions."""
        return self._values

    @property
    def row_splits(self) -> NDArray[Any]:
        """The start of each row in `values`, and the end: one more than the number of rows."""
        return self._splits[0]

    @property
    def nested_row_splits(self) -> tuple[NDArray[Any], ...]:
        """The splits of all ragged dimensions, from the outermost."""
        return self._splits

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self._splits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._values.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The dimensions, with `None` for ragged ones."""
        return (len(self), *[None] * len(self._splits), *self._values.shape[1:])

    @property
    def ndim(self) -> int:
        """The number of dimensions: rows, ragged and uniform."""
        return len(self._splits) + self._values.ndim

    @property
    def nbytes(self) -> int:
        """The bytes of the values and the splits."""
        return self._values.nbytes + sum(splits.nbytes for splits in self._splits)

    @property
    def writeable(self) -> bool:
        """True if values and splits are writeable."""
        return all(array.flags.writeable for array in self.arrays())

    def row_lengths(self) -> NDArray[Any]:
        """Return the length of each row, in the outermost ragged dimension."""
        return np.diff(self._splits[0])

    # Rows

    def __len__(self) -> int:
        return len(self._splits[0]) - 1

    @overload
    def __getitem__(self, rows: int) -> Any: ...
    @overload
    def __getitem__(self, rows: slice | Sequence[int] | NDArray[Any]) -> Ragged: ...
    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, slice):
            low, high, step = rows.indices(len(self))
            return self._between(low, max(low, high)) if step == 1 else self.take(np.arange(low, high, step))
        if isinstance(rows, list | np.ndarray):
            return self.take(offset_positions(rows, len(self)))
        row = position(rows, len(self))
        low, high = int(self._splits[0][row]), int(self._splits[0][row + 1])
        return self.values[low:high]

    def __iter__(self) -> Iterator[Any]:
        values = self.values
        return (values[low:high] for low, high in pairwise(self._splits[0].tolist()))

    def take(self, rows: NDArray[np.int64], allocate: Allocate = np.empty) -> Ragged:
        """Return a copy of the rows at these positions, in that order."""
        splits: list[NDArray[Any]] = []
        for level in self._splits:
            starts = level[rows]
            lengths = level[rows + 1] - starts
            rows = spread(starts, lengths)
            splits.append(begins(lengths, level.dtype))
        taken = gather(self._values, rows, memory((len(rows), *self._values.shape[1:]), self.dtype, allocate))
        return _made(taken, tuple(splits))

    def _between(self, low: int, high: int) -> Ragged:
        splits: list[NDArray[Any]] = []
        for level in self._splits:
            part = level[low : high + 1]
            low, high = int(part[0]), int(part[-1])
            splits.append(part - part[0] if low else part)
        return _made(self._values[low:high], tuple(splits))

    # Combining

    @staticmethod
    def stack(parts: Sequence[Ragged], allocate: Allocate = np.empty) -> Ragged:
        """Return `Ragged` of equal dtype, ragged rank and inner shape stacked along a new first dimension: a copy.

        >>> Ragged.stack([Ragged.from_rows([[1], [2, 3]]), Ragged.from_rows([[4]])])
        Ragged([[[1], [2, 3]], [[4]]], int64[2, ~, ~])
        """
        whole = Ragged.concatenate(parts, allocate)
        outer = begins([len(part) for part in parts], whole.row_splits.dtype)
        return _made(whole.flat_values, (outer, *whole.nested_row_splits))

    @staticmethod
    def concatenate(parts: Sequence[Ragged], allocate: Allocate = np.empty) -> Ragged:
        """Return the rows of all parts, one part after another: a copy.

        >>> Ragged.concatenate([Ragged.from_rows([[1], [2, 3]]), Ragged.from_rows([[4]])])
        Ragged([[1], [2, 3], [4]], int64[3, ~])
        """
        ranks = [part.ragged_rank for part in parts]
        if len(set(ranks)) != 1:
            raise ElementError(f"Ragged: parts of ragged ranks {ranks} do not fit together")
        levels = zip(*(part.nested_row_splits for part in parts), strict=True)
        splits = tuple(begins(np.concatenate(list(map(np.diff, level))), np.result_type(*level)) for level in levels)
        return _made(end_to_end([part.flat_values for part in parts], allocate), alike(splits))

    def fold(self, size: int) -> Ragged:
        """Group every `size` rows into one, in one more ragged dimension; the number of rows must be a multiple."""
        outer = begins([size] * (len(self) // size), self._splits[0].dtype)
        return _made(self._values, (outer, *self._splits))

    def owned(self, allocate: Allocate = np.empty) -> Ragged:
        """Return the object itself if it is writeable, otherwise a writeable copy."""
        return self if self.writeable else _made(own(self._values, allocate), tuple(map(own, self._splits)))

    def frozen(self) -> Ragged:
        """Return a read-only view of the same memory."""
        return _made(read_only(self._values), tuple(map(read_only, self._splits)))

    def with_splits(self, dtype: DTypeLike) -> Ragged:
        """Return the same values with splits of `int32` or `int64`."""
        if self._splits[0].dtype == dtype:
            return self
        if np.dtype(dtype) == np.int32 and max(int(level[-1]) for level in self._splits) >= 1 << 31:
            raise ElementError(f"Ragged: splits up to {len(self._values)} do not fit int32")
        return _made(self._values, tuple(level.astype(split_dtype(dtype)) for level in self._splits))

    # Conversions

    def to_dense(
        self, fill: Any = None, shape: Sequence[int | None] | None = None, allocate: Allocate = np.empty
    ) -> NDArray[Any]:
        """Return one array, padded at the end of each row with `fill`: by default zero, `False` or an empty string.

        `shape` fixes sizes of the ragged dimensions, from the outermost; `None` is the longest. A longer row raises an
        `ElementError`.

        >>> Ragged.from_rows([[1], [2, 3]]).to_dense(fill=-1, shape=[3]).tolist()
        [[1, -1, -1], [2, 3, -1]]
        """
        wanted = [None] * self.ragged_rank if shape is None else list(shape)
        if len(wanted) != self.ragged_rank:
            raise ElementError(f"Ragged.to_dense(shape={shape}): expected {self.ragged_rank} sizes")
        sizes: list[int] = []
        places = np.arange(len(self), dtype=np.int64)  # position of each row of a level in the flattened result
        for level, size in zip(self._splits, wanted, strict=True):
            lengths = np.diff(level).astype(np.int64, copy=False)
            longest = int(lengths.max(initial=0))
            if size is not None and size < longest:
                raise ElementError(f"Ragged.to_dense(shape={shape}): a row has {longest} values, more than {size}")
            sizes.append(longest if size is None else size)
            places = spread(places * sizes[-1], lengths)
        whole = (len(self), *sizes, *self._values.shape[1:])
        dense = memory(whole, self.dtype, allocate)
        dense[...] = empty_value(self._values) if fill is None else fill
        dense.reshape(prod(whole[: 1 + len(sizes)]), *self._values.shape[1:])[places] = self._values
        return dense

    def tolist(self) -> list[Any]:
        """Return the rows as lists of Python values.

        >>> Ragged.from_rows([[1], [2, 3]]).tolist()
        [[1], [2, 3]]
        """
        return [row.tolist() for row in self]

    # Value semantics

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ragged):
            return NotImplemented
        mine, others = self.arrays(), other.arrays()
        return len(mine) == len(others) and all(
            a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(mine, others, strict=True)
        )

    def arrays(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that make up the object: the values and the splits."""
        return (self._values, *self._splits)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return a value that identifies the object."""
        return ("ragged", *self.arrays())

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, (self._values, self._splits)

    def __repr__(self) -> str:
        dimensions = ", ".join("~" if size is None else str(size) for size in self.shape)
        return f"Ragged({_shown(self)}, {self.dtype}[{dimensions}])"


def make_ragged(values: NDArray[Any] | Ragged, row_splits: NDArray[Any]) -> Ragged:
    """Build from parts that are known to fit: splits of one dtype, without checks."""
    if isinstance(values, Ragged):
        return _made(values.flat_values, (row_splits, *values.nested_row_splits))
    return _made(values, (row_splits,))


def _made(values: NDArray[Any], splits: tuple[NDArray[Any], ...]) -> Ragged:
    """Build from parts that are known to fit."""
    made = object.__new__(Ragged)
    made._values = values  # pyright: ignore[reportPrivateUsage]
    made._splits = splits  # pyright: ignore[reportPrivateUsage]
    return made


def _shown(ragged: Ragged) -> str:
    """Return the first rows, and the first values of each."""
    rows = [_shown(row) if isinstance(row, Ragged) else _shown_row(row) for row in ragged[:_MOST_SHOWN]]
    return f"[{', '.join([*rows, '...'] if len(ragged) > _MOST_SHOWN else rows)}]"


def _shown_row(row: NDArray[Any]) -> str:
    cells = [repr(cell) if isinstance(cell, str | bytes) else str(cell) for cell in row[:_MOST_SHOWN].tolist()]
    return f"[{', '.join([*cells, '...'] if len(row) > _MOST_SHOWN else cells)}]"
