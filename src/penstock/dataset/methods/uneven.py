"""Batches of elements whose shapes differ."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.core.checks import check_count
from penstock.core.errors import ElementError, PlanError
from penstock.dataset.arguments.remainder import Remainder, policy
from penstock.dataset.handle import Handle, T_co
from penstock.elements.leaves.offsets import split_dtype
from penstock.elements.nested.structure import flatten, unflatten
from penstock.ops import group

if TYPE_CHECKING:
    from penstock.dataset.dataset import Dataset


class UnevenMethods(Handle[T_co]):
    """`padded_batch`, `ragged_batch` and `sparse_batch`."""

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        *,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
    ) -> Dataset[Any]:
        """Stack consecutive elements of different shapes, padded at the end of each dimension to one shape.

        - `padded_shapes` is a shape for all leaves, or one for each in the nesting of the elements. A size of `None` or
          -1 is that of the longest in the batch; so is every size of a shape that is `None`.
        - `padding_values` is a value for all leaves, or one for each: by default 0, `False` and an empty string.
          A NumPy scalar must have the leaf's dtype, and a Python number its kind; otherwise they raise a `TypeError`.

        Numbers and text are stacked without padding. An element larger than its shape raises an `ElementError` that
        names the leaf and the row; a `Ragged` or `Sparse` leaf raises a `TypeError`.

        The last batch of an epoch is shorter, left out (`drop_remainder`, `remainder="drop"`), or with
        `remainder="pad"` completed with elements that consist of padding, and every batch has a mask, as in `batch`.
        `padding_values` then also apply to numbers and text, and must be of their type.

        >>> words = Dataset.from_source([[1], [2, 3], [4, 5, 6]]).map(np.array)
        >>> [batch.tolist() for batch in words.padded_batch(2)]
        [[[1, 0], [2, 3]], [[4, 5, 6]]]
        >>> [batch.tolist() for batch in words.padded_batch(2, [4], padding_values=-1, drop_remainder=True)]
        [[[1, -1, -1, -1], [2, 3, -1, -1]]]
        >>> batch, real = words.padded_batch(2, padding_values=-1, remainder="pad")[1]
        >>> batch.tolist(), real.tolist()
        ([[4, 5, 6], [-1, -1, -1]], [True, False])
        """
        size = check_count("padded_batch", "batch_size", batch_size, least=1)
        left = policy("padded_batch", self._plan.spec(), drop_remainder, remainder, mask_key)
        shapes, values = _own(padded_shapes), _own(padding_values)
        return self._checked(group.padded.PaddedBatch(self._plan, size, shapes, values, **left))

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: DTypeLike = np.int64,
        *,
        row_shapes: Any = None,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
    ) -> Dataset[Any]:
        """Collect consecutive elements of different shapes as `ps.Ragged`, without padding.

        Leaves whose shape the plan knows are stacked; in other leaves, the dimensions up to the last unknown one become
        ragged. After a Python function the plan knows no shapes; then the first dimension of every array is ragged, and
        the others must agree. `row_shapes` sets the shapes instead: one shape for all leaves, or one for each in the
        nesting of the elements, with `None` or -1 for a size that may differ; a leaf whose sizes are all given is
        stacked. `Ragged` leaves get one more ragged dimension, and `Sparse` leaves one more dimension.

        The last batch of an epoch is shorter, left out (`drop_remainder`, `remainder="drop"`), or with
        `remainder="pad"` padded with empty rows (stacked leaves with zeros and empty strings), and every batch has a
        mask, as in `batch`.

        >>> words = Dataset.from_source([[1], [2, 3], [4, 5, 6]]).map(np.array)
        >>> list(words.ragged_batch(2))
        [Ragged([[1], [2, 3]], int64[2, ~]), Ragged([[4, 5, 6]], int64[1, ~])]
        >>> both = words.map(lambda x: {"word": x, "ends": np.array([x[0], x[-1]])})
        >>> both.ragged_batch(2, row_shapes={"word": [None], "ends": [2]})[0]["ends"].tolist()
        [[1, 1], [2, 3]]
        >>> words.ragged_batch(2, remainder="pad")[1]
        (Ragged([[4, 5, 6], []], int64[2, ~]), array([ True, False]))
        """
        size = check_count("ragged_batch", "batch_size", batch_size, least=1)
        left = policy("ragged_batch", self._plan.spec(), drop_remainder, remainder, mask_key)
        splits = split_dtype(row_splits_dtype, "ragged_batch(row_splits_dtype)")
        ranks = group.ragged.ranks_of(self._plan.spec())
        return self._checked(group.ragged.RaggedBatch(self._plan, size, splits, ranks, _own(row_shapes), **left))

    def sparse_batch(
        self,
        batch_size: int,
        row_shape: Any,
        drop_remainder: bool = False,
        *,
        remainder: Remainder | None = None,
        mask_key: str = "valid",
    ) -> Dataset[Any]:
        """Collect consecutive arrays of different shapes as `ps.Sparse`, whose rows have the shape `row_shape`.

        `row_shape` is one shape for all leaves, or one for each in the nesting of the elements; a size of `None` or -1
        is that of the longest in the batch, and `()` is for numbers and text, which are stacked. All values of an array
        are kept, including zeros; `Sparse` leaves keep theirs. An element larger than `row_shape` raises an
        `ElementError`.

        The last batch of an epoch is shorter, left out (`drop_remainder`, `remainder="drop"`), or with
        `remainder="pad"` padded with rows without values (stacked leaves with zeros and empty strings), and every
        batch has a mask, as in `batch`.

        >>> words = Dataset.from_source([[7], [8, 9]]).map(np.array)
        >>> list(words.sparse_batch(2, [3]))
        [Sparse({(0, 0): 7, (1, 0): 8, (1, 1): 9}, int64[2, 3])]
        """
        size = check_count("sparse_batch", "batch_size", batch_size, least=1)
        left = policy("sparse_batch", self._plan.spec(), drop_remainder, remainder, mask_key)
        if row_shape is None:
            raise TypeError("sparse_batch(row_shape=None): expected a shape such as [1000]")
        return self._checked(group.sparse.SparseBatch(self._plan, size, _own(row_shape), **left))

    def _checked(self, plan: group.leafwise.LeafwiseGrouping) -> Dataset[Any]:
        """Return the dataset; raise an error if the plan's known spec shows that it must fail."""
        try:
            known = plan.spec() is not None
        except ElementError as error:
            raise PlanError(str(error)) from None
        return self._over(replace(plan, shapes_known=known))


def _own(nest: Any) -> Any:
    """Return a copy of the nesting that the caller's later changes do not reach."""
    leaves, structure = flatten(nest)
    return unflatten(structure, leaves)
