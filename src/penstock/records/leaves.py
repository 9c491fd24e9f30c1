"""The values of one feature in some records: as a column of elements, or as one value for a batch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.leaves.offsets import spread
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse, make_sparse
from penstock.kernels.example import places_in_rows


class Leaf(Protocol):
    """One feature of k records."""

    __penstock_leaf__: ClassVar[bool] = True

    def column(self) -> Column:
        """Return the feature of each record, as a column of k elements."""
        ...

    def batch(self, low: int, high: int) -> Any:
        """Return the feature of records `low` to `high`, as one value."""
        ...


@frozen()
class Fixed(Leaf):
    """Values of one shape, `(k, *shape)`."""

    values: NDArray[Any]

    def column(self) -> Column:
        return self.values

    def batch(self, low: int, high: int) -> Any:
        return self.values[low:high]


@frozen()
class Uneven(Leaf):
    """Ragged values; in a batch with splits of `splits_dtype`."""

    values: Ragged
    splits_dtype: str

    def column(self) -> Column:
        return self.values if self.values.ragged_rank == 1 else self.values.with_splits(self.splits_dtype)

    def batch(self, low: int, high: int) -> Any:
        whole = self.values if high - low == len(self.values) else self.values[low:high]
        return whole.with_splits(self.splits_dtype)


@frozen()
class Padded(Leaf):
    """Items, `(k, ~, *shape)`, padded in a batch to its longest with `fill`."""

    items: Ragged
    fill: Any

    def column(self) -> Column:
        return self.items

    def batch(self, low: int, high: int) -> Any:
        return self.items[low:high].to_dense(self.fill)


@frozen()
class Lengths(Leaf):
    """The number of items of each record, `(k,)`."""

    counts: NDArray[np.int64]

    def column(self) -> Column:
        return self.counts

    def batch(self, low: int, high: int) -> Any:
        return self.counts[low:high]


@frozen()
class Listed(Leaf):
    """Ragged values as `Sparse`, with the length of the longest."""

    values: Ragged

    def column(self) -> Column:
        if self.values.ragged_rank > 1:
            return [_drop_first(self.batch(i, i + 1)) for i in range(len(self.values))]
        lengths = self.values.row_lengths().tolist()
        places = np.arange(max(lengths, default=0), dtype=np.int64)[:, None]
        places.flags.writeable = False  # all of them share it
        rows = zip(lengths, self.values, strict=True)
        return [make_sparse(places[:length], row, (length,)) for length, row in rows]

    def batch(self, low: int, high: int) -> Any:
        return sparse_of(self.values[low:high])


@frozen()
class Placed(Leaf):
    """Values at indices, of shape `(k, *size)`."""

    values: Sparse

    def column(self) -> Column:
        return self.values

    def batch(self, low: int, high: int) -> Any:
        return self.values[low:high]


def sparse_of(ragged: Ragged) -> Sparse:
    """Return the values as `Sparse`, at their places in rows padded to the longest.

    >>> sparse_of(Ragged.from_rows([[5], [], [6, 7]]))
    Sparse({(0, 0): 5, (2, 0): 6, (2, 1): 7}, int64[3, 2])
    """
    if ragged.ragged_rank == 1:
        indices, longest = places_in_rows(ragged.row_splits)
        return make_sparse(indices, ragged.flat_values, (len(ragged), longest))
    columns = [np.arange(len(ragged), dtype=np.int64)]
    sizes = [len(ragged)]
    for splits in ragged.nested_row_splits:
        lengths = np.diff(splits).astype(np.int64, copy=False)
        columns = [np.repeat(column, lengths) for column in columns]
        columns.append(spread(np.zeros(len(lengths), np.int64), lengths))
        sizes.append(int(lengths.max(initial=0)))
    return make_sparse(np.stack(columns, axis=1), ragged.flat_values, tuple(sizes))


def _drop_first(sparse: Sparse) -> Sparse:
    return make_sparse(np.ascontiguousarray(sparse.indices[:, 1:]), sparse.values, sparse.dense_shape[1:])


def placed(indices: Sequence[NDArray[np.int64]], values: NDArray[Any], shape: tuple[int, ...]) -> Sparse:
    """Return values of some records, in any order, with a column of indices for each of the dimensions of `shape`.

    The caller has checked the bounds of the indices.
    """
    if prod(shape) < 1 << 62:
        order = np.argsort(np.ravel_multi_index(tuple(indices), shape) if len(values) else values, kind="stable")
    else:
        order = np.lexsort(tuple(reversed(indices)))
    return make_sparse(np.stack([column[order] for column in indices], axis=1), values[order], shape)
