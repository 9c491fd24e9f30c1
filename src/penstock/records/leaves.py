"""The values of one feature in some records: as one column of elements, or as what a batch of them has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.elements.chunks.chunk import Column
from penstock.elements.leaves.offsets import spread
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse, made
from penstock.kernels.example import places_in_rows


class Leaf(Protocol):
    """One feature of k records."""

    __penstock_leaf__: ClassVar[bool] = True

    def column(self) -> Column:
        """The feature of each record, as a column of k elements."""
        ...

    def batch(self, low: int, high: int) -> Any:
        """The feature of records `low` to `high`, as one value."""
        ...


@dataclass(frozen=True)
class Fixed(Leaf):
    """Values of one shape, `(k, *shape)`."""

    values: NDArray[Any]

    def column(self) -> Column:
        return self.values

    def batch(self, low: int, high: int) -> Any:
        return self.values[low:high]


@dataclass(frozen=True)
class Uneven(Leaf):
    """Ragged values; in a batch with splits of `splits_dtype`."""

    values: Ragged
    splits_dtype: str

    def column(self) -> Column:
        return self.values if self.values.ragged_rank == 1 else self.values.with_splits(self.splits_dtype)

    def batch(self, low: int, high: int) -> Any:
        whole = self.values if high - low == len(self.values) else self.values[low:high]
        return whole.with_splits(self.splits_dtype)


@dataclass(frozen=True)
class Padded(Leaf):
    """Items, `(k, ~, *shape)`, of which a batch has as many as its longest, padded with `fill`."""

    items: Ragged
    fill: Any

    def column(self) -> Column:
        return self.items

    def batch(self, low: int, high: int) -> Any:
        return self.items[low:high].to_dense(self.fill)


@dataclass(frozen=True)
class Lengths(Leaf):
    """How many items each record has, `(k,)`."""

    counts: NDArray[np.int64]

    def column(self) -> Column:
        return self.counts

    def batch(self, low: int, high: int) -> Any:
        return self.counts[low:high]


@dataclass(frozen=True)
class Listed(Leaf):
    """Ragged values as `Sparse`, whose shape is that of the longest."""

    values: Ragged

    def column(self) -> Column:
        if self.values.ragged_rank > 1:
            return [_drop_first(self.batch(i, i + 1)) for i in range(len(self.values))]
        lengths = self.values.row_lengths().tolist()
        places = np.arange(max(lengths, default=0), dtype=np.int64)[:, None]
        places.flags.writeable = False  # all of them share it
        rows = zip(lengths, self.values, strict=True)
        return [made(places[:length], row, (length,)) for length, row in rows]

    def batch(self, low: int, high: int) -> Any:
        return sparse_of(self.values[low:high])


@dataclass(frozen=True)
class Placed(Leaf):
    """Values at indices, of shape `(k, *size)`."""

    values: Sparse

    def column(self) -> Column:
        return self.values

    def batch(self, low: int, high: int) -> Any:
        return self.values[low:high]


def sparse_of(ragged: Ragged) -> Sparse:
    """Return the values where they would be if every row were padded to the longest.

    >>> sparse_of(Ragged.from_rows([[5], [], [6, 7]]))
    Sparse({(0, 0): 5, (2, 0): 6, (2, 1): 7}, int64[3, 2])
    """
    if ragged.ragged_rank == 1:
        indices, longest = places_in_rows(ragged.row_splits)
        return made(indices, ragged.flat_values, (len(ragged), longest))
    columns = [np.arange(len(ragged), dtype=np.int64)]
    sizes = [len(ragged)]
    for splits in ragged.nested_row_splits:
        lengths = np.diff(splits).astype(np.int64, copy=False)
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(spread(np.zeros(len(lengths), np.int64), lengths))
        sizes.append(int(lengths.max(initial=0)))
    return made(np.stack(columns, axis=1), ragged.flat_values, tuple(sizes))


def _drop_first(sparse: Sparse) -> Sparse:
    return made(np.ascontiguousarray(sparse.indices[:, 1:]), sparse.values, sparse.dense_shape[1:])


def placed(indices: Sequence[NDArray[np.int64]], values: NDArray[Any], shape: tuple[int, ...]) -> Sparse:
    """Return values of some records, in any order, with a column of indices for each of the dimensions of `shape`.

    The caller has checked that the indices lie inside.
    """
    if prod(shape) < 1 << 62:
        order = np.argsort(np.ravel_multi_index(tuple(indices), shape) if len(values) else values, kind="stable")
    else:
        order = np.lexsort(tuple(reversed(indices)))
    return made(np.stack([column[order] for column in indices], axis=1), values[order], shape)
