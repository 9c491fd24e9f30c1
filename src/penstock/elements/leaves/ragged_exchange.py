"""Convert ragged rows to and from the types of other libraries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import ElementError
from penstock.core.lazy import require

_MOST_INT32 = (1 << 31) - 1


class RaggedExchange:
    """The conversions of `Ragged`; a library is imported on first use."""

    __slots__ = ()

    def __init__(self, values: Any, row_splits: Any) -> None:
        raise NotImplementedError

    @property
    def flat_values(self) -> NDArray[Any]:
        """All values end to end."""
        raise NotImplementedError

    @property
    def nested_row_splits(self) -> tuple[NDArray[Any], ...]:
        """The splits of all ragged dimensions, from the outermost."""
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError

    @classmethod
    def _nested(cls, flat: Any, splits: Any) -> Self:
        values: Any = flat
        for level in reversed(tuple(splits)):
            values = cls(values, level)
        return values

    def to_numpy(self) -> NDArray[Any]:
        """Return the rows as an array of objects, of shape (k,). `from_rows` is the inverse.

        >>> ps.Ragged.from_rows([[1], [2, 3]]).to_numpy()
        array([array([1]), array([2, 3])], dtype=object)
        """
        rows = np.empty(len(self), object)
        for i, row in enumerate(self):
            rows[i] = row
        return rows

    def to_arrow(self) -> Any:
        """Return a `pyarrow.ListArray`, or `LargeListArray` above 2**31 values; inner dimensions have fixed sizes."""
        arrow = require("pyarrow", extra="arrow", purpose="Ragged.to_arrow()")
        flat = self.flat_values
        made = arrow.array(flat.tolist() if flat.dtype.hasobject else flat.reshape(-1))
        for size in reversed(flat.shape[1:]):
            made = arrow.FixedSizeListArray.from_arrays(made, size)
        for splits in reversed(self.nested_row_splits):
            narrow = int(splits[-1]) <= _MOST_INT32
            of = arrow.ListArray if narrow else arrow.LargeListArray
            made = of.from_arrays(arrow.array(splits.astype(np.int32 if narrow else np.int64, copy=False)), made)
        return made

    @classmethod
    def from_arrow(cls, array: Any) -> Self:
        """Return the lists of a `pyarrow` array or chunked array; inner fixed-size lists are uniform dimensions.

        A null, or an array of values other than lists, raises an `ElementError`.
        """
        arrow = require("pyarrow", extra="arrow", purpose="Ragged.from_arrow()")
        if isinstance(array, arrow.ChunkedArray):
            array = array.combine_chunks()
        splits: list[NDArray[Any]] = []
        while isinstance(array, arrow.ListArray | arrow.LargeListArray):
            _refuse_nulls(array)
            offsets = array.offsets.to_numpy().astype(np.int64, copy=False)
            splits.append(offsets - offsets[0] if len(offsets) else np.zeros(1, np.int64))
            array = array.flatten()
        if not splits:
            raise ElementError(f"Ragged.from_arrow: expected lists, not {getattr(array, 'type', type(array).__name__)}")
        inner: list[int] = []
        while isinstance(array, arrow.FixedSizeListArray):
            _refuse_nulls(array)
            inner.append(array.type.list_size)
            array = array.flatten()
        _refuse_nulls(array)
        flat = array.to_numpy(zero_copy_only=False)
        return cls._nested(flat.reshape(-1, *inner) if inner else flat, splits)

    def to_torch(self) -> Any:
        """Return a nested PyTorch tensor in the jagged layout, over the same memory: one ragged dimension."""
        torch = require("torch", extra="torch", purpose="Ragged.to_torch()")
        if len(self.nested_row_splits) > 1:
            raise ElementError(
                "Ragged.to_torch: PyTorch supports one ragged dimension, but these rows have "
                f"{len(self.nested_row_splits)}; to_dense() pads the inner ones"
            )
        flat, splits = self.flat_values, next(iter(self.nested_row_splits))
        values = torch.from_numpy(flat if flat.flags.writeable else flat.copy())
        offsets = torch.from_numpy(splits if splits.flags.writeable else splits.copy())
        return torch.nested.nested_tensor_from_jagged(values, offsets)

    @classmethod
    def from_torch(cls, tensor: Any) -> Self:
        """Return the rows of a nested PyTorch tensor."""
        torch = require("torch", extra="torch", purpose="Ragged.from_torch()")
        if not getattr(tensor, "is_nested", False):
            raise ElementError(f"Ragged.from_torch: expected a nested tensor, not {type(tensor).__name__}")
        if tensor.layout == torch.jagged and tensor.lengths() is None:
            return cls(tensor.values().numpy(force=True), tensor.offsets().numpy(force=True))
        rows = [row.numpy(force=True) for row in tensor.unbind()]
        if not rows:
            raise ElementError("Ragged.from_torch: a nested tensor without rows has no known shape")
        return cls(np.concatenate(rows), np.cumsum([0, *map(len, rows)]))

    def to_tensorflow(self) -> Any:
        """Return a `tf.RaggedTensor`."""
        tensorflow = require("tensorflow", extra="tensorflow", purpose="Ragged.to_tensorflow()")
        return tensorflow.RaggedTensor.from_nested_row_splits(self.flat_values, self.nested_row_splits)

    @classmethod
    def from_tensorflow(cls, tensor: Any) -> Self:
        """Return the rows of a `tf.RaggedTensor`."""
        require("tensorflow", extra="tensorflow", purpose="Ragged.from_tensorflow()")
        splits = getattr(tensor, "nested_row_splits", None)
        if splits is None:
            raise ElementError(f"Ragged.from_tensorflow: expected a RaggedTensor, not {type(tensor).__name__}")
        return cls._nested(tensor.flat_values.numpy(), [level.numpy() for level in splits])


def _refuse_nulls(array: Any) -> None:
    if array.null_count:
        raise ElementError(f"Ragged.from_arrow: {array.null_count} of {len(array)} values are null; fill or drop them")
