"""Combine values of different shapes into one leaf: padded, ragged or sparse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Column
from penstock.elements.chunks.stacking import (
    SHAPELESS,
    Origin,
    Stack,
    are_objects,
    folded,
    refuse_different,
    refuse_masks,
    stack,
)
from penstock.elements.chunks.to_arrays import owned
from penstock.elements.leaves.offsets import begins, spread
from penstock.elements.leaves.values import empty_value, end_to_end, memory
from penstock.elements.nested.per_leaf import PartialShape
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse, make_sparse
from penstock.elements.spec import ArraySpec, LeafSpec, SparseSpec, leaf_spec
from penstock.kernels.arrays import copy_arrays, largest_shapes, one_type


def pad_column(column: Column, shape: PartialShape | None, fill: Any, origin: Origin, allocate: Allocate) -> Any:
    """Return k values as one array of shape `(k, *shape)`, with `fill` at the end of every shorter dimension.

    A size of `None` is that of the longest value. Values that differ in dtype or in number of dimensions, or are larger
    than the shape, raise an `ElementError`; `Ragged` and `Sparse` values, and a `fill` of another type, a `TypeError`.

    >>> pad_column([np.array([1]), np.array([2, 3])], (3,), -1, Origin(), np.empty).tolist()
    [[1, -1, -1], [2, 3, -1]]
    """
    _refuse_kinds(column, (Ragged, Sparse), origin)
    if isinstance(column, list) and column:
        refuse_datasets(type(column[0]), origin)
    if isinstance(column, Ragged) and (shape is None or shape[1:] == column.shape[2:]):
        size = None if shape is None else shape[0]
        if size is None or size >= int(column.row_lengths().max(initial=0)):
            return column.to_dense(fill_value(fill, column.flat_values, origin), [size], allocate)
    if isinstance(column, list) and column and (alike := largest_shapes(column, len(column))) and alike[0][0]:
        return _padded_alike(column, alike[0], shape, fill, origin, allocate)
    arrays = _arrays(column, origin)
    if not arrays:
        _check_dimensions(0, shape, origin)
        return stacked(column, origin, allocate)
    sizes = _sizes(arrays)
    whole = _whole_shape(sizes, shape, origin)
    if (sizes == whole).all():
        return stacked(column, origin, allocate)
    out = memory((len(arrays), *whole), arrays[0].dtype, allocate)
    out[...] = fill_value(fill, next((array for array in arrays if array.size), arrays[0]), origin)
    for row, array in zip(out, arrays, strict=True):
        row[slice(len(array)) if array.ndim == 1 else tuple(map(slice, array.shape))] = array
    return out


def pad_groups(
    column: Column, size: int, shape: PartialShape | None, fill: Any, origin: Origin, allocate: Allocate
) -> Stack | None:
    """Return k groups of `size` values as one array `(k, size, ...)`, each group as `pad_column` makes it.

    The result is `None` if groups might differ in shape or dtype.

    >>> pad_groups([np.ones(1), np.ones(2), np.zeros(2), np.zeros(2)], 2, None, None, Origin(), np.empty).tolist()
    [[[1.0, 0.0], [1.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]
    """
    if isinstance(column, list):
        if one_type(column) in SHAPELESS:
            _check_dimensions(0, shape, origin)
            return folded(stacked(column, origin, allocate), size)
        found = largest_shapes(column, size)
        if found is None:
            return None
        sizes = {largest if shape is None else tuple(map(_size, shape, largest)) for largest, _ in found}
        if len(sizes) > 1:
            return None
        if found[0][0]:
            return folded(_padded_alike(column, _of_all(found), shape, fill, origin, allocate), size)
    elif isinstance(column, Ragged | Sparse):
        return None
    return folded(pad_column(column, shape, fill, origin, allocate), size)


def _padded_alike(
    arrays: list[NDArray[Any]],
    alike: tuple[tuple[int, ...], bool],
    shape: PartialShape | None,
    fill: Any,
    origin: Origin,
    allocate: Allocate,
) -> Any:
    """Return contiguous arrays of one dtype as one array, padded; `alike` is their largest shape."""
    largest, of_one_shape = alike
    _check_dimensions(len(largest), shape, origin)
    whole = largest if shape is None else tuple(map(_size, shape, largest))
    if any(map(int.__gt__, largest, whole)):
        _whole_shape(_sizes(arrays), shape, origin)  # raises the error
    if of_one_shape and whole == largest:
        return stacked(arrays, origin, allocate)
    out = memory((len(arrays), *whole), arrays[0].dtype, allocate)
    out[...] = fill_value(fill, next((array for array in arrays if array.size), arrays[0]), origin)
    if not copy_arrays(arrays, out, pad=True):
        raise RuntimeError("arrays of one dtype did not fit the memory made for them")
    return out


def _of_all(found: list[tuple[tuple[int, ...], bool]]) -> tuple[tuple[int, ...], bool]:
    """Return the largest shape of several groups of arrays, and whether all arrays have it."""
    shapes = {largest for largest, _ in found}
    return tuple(map(max, zip(*shapes, strict=True))), len(shapes) == 1 and all(same for _, same in found)


def _size(size: int | None, largest: int) -> int:
    return largest if size is None else size


def ragged(column: Column, rank: int | None, splits: DTypeLike, origin: Origin, allocate: Allocate) -> Any:
    """Return k values as `Ragged` of k rows, whose first `rank` dimensions may differ; for rank 0, as one array.

    `None` means one dimension of arrays, and none of numbers and text. `Ragged` values get one more ragged dimension,
    `Sparse` values one more dimension, whatever the rank.

    >>> ragged([np.array([1]), np.array([2, 3])], 1, np.int64, Origin(), np.empty)
    Ragged([[1], [2, 3]], int64[2, ~])
    """
    if isinstance(column, Ragged) and rank in (1, None) and column.ragged_rank == 1:
        return column.owned(allocate).with_splits(splits)
    arrays = None if rank == 0 or _kind(column) is not np.ndarray else _arrays(column, origin)
    if not arrays:
        whole = stacked(column, origin, allocate)
        return whole.with_splits(splits) if isinstance(whole, Ragged) else whole
    rank = 1 if rank is None else rank
    if arrays[0].ndim < rank:
        told = f"{arrays[0].ndim} dimension{'s' * (arrays[0].ndim != 1)}"
        raise ElementError(f"{origin.operation}: arrays{origin.where} have {told}, but {rank} or more were declared")
    if len({(array.ndim, *array.shape[rank:]) for array in arrays}) > 1:
        specs = [ArraySpec((None,) * rank + array.shape[rank:], array.dtype) for array in arrays]
        refuse_different(specs, origin, f"only the first {rank} dimension{'s' * (rank > 1)} may differ")
    if rank == 1:
        return Ragged(end_to_end(arrays, allocate), begins(list(map(len, arrays)), splits))
    flat = [array.reshape(prod(array.shape[:rank]), *array.shape[rank:]) for array in arrays]
    rows: Any = end_to_end(flat, allocate)
    for level in reversed(range(rank)):
        times = [prod(array.shape[:level]) for array in arrays]  # rows at this level in each value
        rows = Ragged(rows, begins(np.repeat([array.shape[level] for array in arrays], times), splits))
    return rows


def sparse(column: Column, shape: PartialShape, origin: Origin, allocate: Allocate) -> Any:
    """Return k arrays as `Sparse` of `dense_shape` `(k, *shape)` that holds all their values, including zeros.

    A size of `None` is that of the longest value; for the shape `()`, numbers and text become one array. `Sparse`
    values keep their stored values. Values larger than the shape raise an `ElementError`.

    >>> sparse([np.array([5]), np.array([6, 0])], (3,), Origin(), np.empty)
    Sparse({(0, 0): 5, (1, 0): 6, (1, 1): 0}, int64[2, 3])
    """
    _refuse_kinds(column, (Ragged,), origin)
    if _kind(column) is Sparse:
        parts: list[Sparse] = list(column)
        _refuse_mixed(parts, origin)
        return Sparse.stack(parts, allocate, shape=_whole_shape(_sizes(parts), shape, origin))
    if isinstance(column, Ragged) and column.ndim == 2:
        sizes, values = column.row_lengths().astype(np.int64)[:, None], column.owned(allocate).flat_values
    else:
        arrays = _arrays(column, origin)
        if not arrays:
            _check_dimensions(0, shape, origin)
            return stacked(column, origin, allocate)
        sizes, values = _sizes(arrays), end_to_end([array.reshape(-1) for array in arrays], allocate)
    whole = _whole_shape(sizes, shape, origin)
    which = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes.prod(axis=1))
    return make_sparse(np.concatenate([which[:, None], _places(sizes)], axis=1), values, (len(sizes), *whole))


def refuse_datasets(kind: type, origin: Origin) -> None:
    """Raise an error for datasets, recognized by `element_spec` because this package knows no datasets."""
    if hasattr(kind, "element_spec"):
        raise TypeError(
            f"{origin.operation}: the values{origin.where} are datasets, which cannot be padded; use batch to keep "
            "them as they are, or pad the elements of each: flat_map(lambda window: window.padded_batch(...))"
        )


def fill_value(fill: Any, values: NDArray[Any], origin: Origin) -> Any:
    """Return the padding for such values: `fill` if it has their type, by default zero or empty text.

    Python numbers fit unless their kind is lost: an `int` among floats fits, a `float` among integers does not.

    >>> fill_value(1, np.zeros(2, np.float32), Origin())
    np.float32(1.0)
    """
    dtype = values.dtype
    if dtype.kind == "O" and values.size:
        check_text_fill(fill, type(values.flat[0]), origin)
    if fill is None or dtype.kind == "O":
        return empty_value(values) if fill is None else fill
    own = fill.dtype if isinstance(fill, np.ndarray | np.generic) else None
    fits = own == dtype if own is not None else dtype.kind in _KINDS.get(type(fill), "")
    if not fits or np.ndim(fill) != 0:
        shown = repr(fill) if own is None else f"{fill} of {own}"
        raise TypeError(
            f"{origin.operation}(padding_values=): {shown} for values of {dtype}{origin.where}; pass a value of that "
            "type"
        )
    try:
        with np.errstate(over="raise"):
            return np.array(fill, dtype)[()]
    except (OverflowError, FloatingPointError):
        raise ValueError(f"{origin.operation}(padding_values=): {fill} does not fit {dtype}{origin.where}") from None


def check_text_fill(fill: Any, kind: type, origin: Origin) -> None:
    """Raise an error for padding text with no text, or bytes with no bytes; other objects take any padding."""
    wanted = next((text for text in (str, bytes) if issubclass(kind, text)), None)
    if fill is not None and wanted is not None and not isinstance(fill, wanted):
        raise TypeError(
            f"{origin.operation}(padding_values=): {fill!r} for {wanted.__name__}{origin.where}; pass a value of that "
            "type"
        )


_KINDS: dict[type, str] = {bool: "b", int: "iufc", float: "fc", complex: "c", str: "U", bytes: "S"}


def _kind(column: Column) -> type:
    """Return the kind of the elements, from the first: `Ragged`, `Sparse`, or else `np.ndarray`."""
    if isinstance(column, Ragged | Sparse):
        deep = column.ragged_rank > 1 if isinstance(column, Ragged) else column.ndim > 1
        return type(column) if deep else np.ndarray
    first = column[0] if isinstance(column, list) and column else None
    return type(first) if isinstance(first, Ragged | Sparse) else np.ndarray


def _arrays(column: Column, origin: Origin) -> list[NDArray[Any]] | None:
    """Return the elements as arrays of one dtype and number of dimensions; `None` for numbers, text or objects."""
    if isinstance(column, np.ndarray | Sparse):
        return list(column) if isinstance(column, np.ndarray) and column.ndim > 1 else None
    values: list[Any] = list(column)
    if one_type(values) in SHAPELESS:
        return None
    if set(map(type, values)) != {np.ndarray} or len({(value.dtype, value.ndim) for value in values}) > 1:
        refuse_masks(values, origin)
        if not isinstance(_refuse_mixed(values, origin), ArraySpec):
            return None
        values = list(map(np.asarray, values))
    return values if values[0].ndim else None


def _loose_spec(value: Any) -> LeafSpec:
    spec = leaf_spec(value)
    return replace(spec, shape=(None,) * len(spec.shape)) if isinstance(spec, ArraySpec | SparseSpec) else spec


def _refuse_mixed(values: Sequence[Any], origin: Origin) -> LeafSpec | None:
    """Raise an error for values of several kinds, dtypes or numbers of dimensions; return their spec."""
    specs = list(map(_loose_spec, values))
    if len(set(specs)) > 1 and not all(are_objects(spec, specs[0]) for spec in specs):
        refuse_different(specs, origin)
    return specs[0] if specs else None


def stacked(column: Column, origin: Origin, allocate: Allocate) -> Any:
    """Return k values that fit together as one value, each leaf in its kind, as `batch` does."""
    whole = stack(column, path=origin.path, rows=origin.rows, allocate=allocate, operation=origin.operation)
    return owned(whole, allocate)


def _sizes(arrays: Sequence[NDArray[Any]] | Sequence[Sparse]) -> NDArray[np.int64]:
    """Return the shape of each array, `int64[k, dimensions]`."""
    return np.array([array.shape for array in arrays], np.int64)


def _whole_shape(sizes: NDArray[np.int64], shape: PartialShape | None, origin: Origin) -> tuple[int, ...]:
    """Return the shape that holds values of all these sizes."""
    longest: list[int] = sizes.max(axis=0).tolist()
    _check_dimensions(len(longest), shape, origin)
    wanted = [None] * len(longest) if shape is None else shape
    whole = tuple(found if size is None else size for size, found in zip(wanted, longest, strict=True))
    larger = (sizes > np.array(whole)).any(axis=1)
    if larger.any():
        _refuse_larger(tuple(sizes[larger][0].tolist()), whole, int(np.argmax(larger)), origin)
    return whole


def _places(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the indices of all values of arrays of these shapes, `int64[n, dimensions]`, in row-major order."""
    if sizes.shape[1] == 1:
        return spread(np.zeros(len(sizes), np.int64), sizes[:, 0])[:, None]
    grids = [np.indices(shape, np.int64).reshape(len(shape), prod(shape)) for shape in sizes.tolist()]
    return np.concatenate(grids, axis=1).T


def _check_dimensions(count: int, shape: PartialShape | None, origin: Origin) -> None:
    if shape is not None and len(shape) != count:
        raise ElementError(
            f"{origin.operation}: values{origin.where} have {count} dimensions, but the shape {shape} has {len(shape)}"
        )


def _refuse_kinds(column: Column, kinds: tuple[type, ...], origin: Origin) -> None:
    kind = _kind(column)
    if kind in kinds:
        raise TypeError(
            f"{origin.operation}: the values{origin.where} are {kind.__name__}; use batch, or to_dense() in a map"
        )


def _refuse_larger(shape: tuple[int, ...], whole: tuple[int, ...], at: int, origin: Origin) -> NoReturn:
    raise origin.misfit(
        f"{origin.one(at)} has shape {shape}{origin.where}, larger than {whole}; "
        "crop it, or pass a larger shape (None is the size of the largest)",
        at,
    )
