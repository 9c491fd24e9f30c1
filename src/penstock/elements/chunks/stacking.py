"""Stack values into one array with a leading dimension, in memory given by the caller where they fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate, Rows
from penstock.core.blame import Blame, add_blame
from penstock.core.errors import ElementError
from penstock.elements.leaves.masked import FILL, is_masked
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import (
    ArraySpec,
    LeafSpec,
    ObjectSpec,
    RaggedSpec,
    SparseSpec,
    is_array_like,
    leaf_spec,
)
from penstock.kernels import copy_numbers
from penstock.kernels.arrays import copy_arrays, copy_objects

Stack: TypeAlias = NDArray[Any] | Ragged | Sparse
"""The values of one leaf along a leading dimension: `k` of them, or the values of a batch."""

RowNames: TypeAlias = Sequence[int] | Rows
"""The global row of each value, for error messages."""

_OBJECT = np.dtype(object)
_INT64 = np.dtype(np.int64)
_TEXTS = (str, bytes)
_PYTHONS_OWN: dict[type, np.dtype[Any]] = {bool: np.dtype(np.bool_), int: _INT64, float: np.dtype(np.float64)}
# Types whose values all have one dtype and the shape (): lists of these need no look at each value.
# Durations are numbers to NumPy, but each has a unit of its own.
_SCALARS: dict[type, np.dtype[Any]] = {
    **_PYTHONS_OWN,
    complex: np.dtype(np.complex128),
    **{
        cls: np.dtype(cls)
        for cls in np.sctypeDict.values()
        if issubclass(cls, (np.bool_, np.number)) and cls is not np.timedelta64
    },
}

SHAPELESS = frozenset([*_SCALARS, *_TEXTS])
"""Types whose values are certain to have the shape `()` and, within a type, one dtype or none."""


class Origin(NamedTuple):
    """The origin of values, for the error about values that do not fit together."""

    path: str = ""
    rows: RowNames | None = None
    operation: str = "batch"

    def name(self, first: int, second: int) -> str:
        """Return `elements of rows 3 and 17`, or `elements 0 and 2` if the rows are not known."""
        if self.rows is None:
            return f"elements {first} and {second}"
        return f"elements of rows {int(self.rows[first])} and {int(self.rows[second])}"

    def one(self, element: int) -> str:
        """Return `row 3`, or `element 0` if the rows are not known."""
        return f"element {element}" if self.rows is None else f"row {int(self.rows[element])}"

    def misfit(self, problem: str, *elements: int) -> ElementError:
        """Return the error about some elements."""
        error = ElementError(f"{self.operation}: {problem}")
        if self.rows is not None:
            error.rows = tuple(int(self.rows[element]) for element in elements)
        return error

    @property
    def where(self) -> str:
        return f" at {self.path}" if self.path else ""


def stack(
    column: list[Any] | Stack,
    out: NDArray[Any] | None = None,
    *,
    path: str = "",
    rows: RowNames | None = None,
    allocate: Allocate = np.empty,
    operation: str = "batch",
    types: set[type] | None = None,
    to_largest: bool = False,
) -> Stack:
    """Return the values of `column` as one array with a leading dimension; an array is returned as it is.

    Python's `int`, `float`, `bool` and `complex` become `int64`, `float64`, `bool` and `complex128`; arrays and NumPy
    scalars must agree in shape and dtype, and nothing is cast; text, bytes and other objects become a one-dimensional
    array of objects, but text and bytes do not mix. `Ragged` values become one with another ragged dimension, `Sparse`
    values one with a leading dimension: both must agree in dtype and in the dimensions that are not ragged, and get new
    memory. An array is `out` if that has the right shape and dtype, otherwise memory from `allocate`, or from NumPy for
    objects. Values that differ raise an `ElementError` that names `path`, both shapes or dtypes, and the two of `rows`.
    With `to_largest`, `Sparse` values of one dtype may differ in shape. `types` are the types of the values, if the
    caller knows them.

    >>> stack([1, 2, 3])
    array([1, 2, 3])
    >>> stack([np.zeros(2), np.zeros(3)], path='["x"]', rows=[7, 9])
    Traceback (most recent call last):
        ...
    penstock.core.errors.ElementError: batch: elements of rows 7 and 9 differ at ["x"]: shape (2,) against (3,); \
    crop, resize or pad them to one shape, or use padded_batch or ragged_batch
    """
    if isinstance(column, np.ndarray):
        return _stack_array(column, out, allocate)
    if isinstance(column, list) and (types is None or len(types) == 1):
        made = _of_one_form(column, out, allocate)
        if made is not None:
            return made
    origin = Origin(path, rows, operation)
    if isinstance(column, Ragged | Sparse):
        return _stack_rows(column, out, origin, allocate)
    types = types or set(map(type, column))
    if len(types) == 1:
        (cls,) = types
        dtype = _SCALARS.get(cls)
        if dtype is not None:
            return _scalars(column, dtype, out, origin, allocate)
        make = _as_large_as_the_largest if to_largest and cls is Sparse else _OF_ONE_TYPE.get(cls, _mixed)
        return make(column, out, origin, allocate)
    return _mixed(column, out, origin, allocate)


def _of_one_form(column: list[Any], out: NDArray[Any] | None, allocate: Allocate) -> NDArray[Any] | None:
    """Stack Python numbers, texts, or arrays that need no look at each in Python; `None` for any other values."""
    first: Any = column[0] if column else None
    cls = type(first)
    if cls in _PYTHONS_OWN:
        return numbers(column, out, allocate)
    if cls is np.ndarray:
        if first.dtype.hasobject:
            return None
        result = _memory(out, (len(column), *first.shape), first.dtype, allocate)
        return result if copy_arrays(column, result) else None
    if cls in _TEXTS:
        result = _memory(out, (len(column),), _OBJECT, allocate)
        return result if result.flags.c_contiguous and copy_objects(column, cls, result) else None
    return None


def numbers(values: list[Any], out: NDArray[Any] | None, allocate: Allocate) -> NDArray[Any] | None:
    """Return Python numbers, all of one type, as one array; `None` for other values, and if a number does not fit.

    >>> numbers([1, 2], None, np.empty), numbers([1, 2.0], None, np.empty)
    (array([1, 2]), None)
    """
    dtype = _PYTHONS_OWN.get(type(values[0])) if values else None
    if dtype is None:
        return None
    result = _memory(out, (len(values),), dtype, allocate)
    return result if result.flags.c_contiguous and copy_numbers(values, result) else None


def folded(array: Stack, size: int) -> Stack:
    """Return batches of `size` made of the values of `array`: `(k * size, ...)` becomes `(k, size, ...)`.

    >>> folded(np.arange(4), 2).tolist()
    [[0, 1], [2, 3]]
    """
    if isinstance(array, np.ndarray):
        return array.reshape(len(array) // size, size, *array.shape[1:])
    return array.fold(size)


def join_stacks(parts: Sequence[Stack], allocate: Allocate = np.empty) -> Stack:
    """Return the values of all parts, which must fit together, end to end: a copy, in memory from `allocate`.

    `Sparse` values become as large as the largest.

    >>> join_stacks([np.arange(2), np.arange(1)]).tolist()
    [0, 1, 0]
    """
    first: Any = parts[0]
    if isinstance(first, Sparse):
        values = cast("Sequence[Sparse]", parts)
        largest = _largest_shape([value.dense_shape[1:] for value in values])
        return Sparse.concatenate([value.resized((len(value), *largest)) for value in values], allocate)
    if not isinstance(first, np.ndarray):
        return type(first).concatenate(parts, allocate)
    arrays = cast("Sequence[NDArray[Any]]", parts)
    return np.concatenate(arrays, out=_memory(None, (sum(map(len, arrays)), *first.shape[1:]), first.dtype, allocate))


def _stack_array(column: NDArray[Any], out: NDArray[Any] | None, allocate: Allocate) -> Stack:
    if column.ndim == 1 and column.dtype.kind in "OUS":  # text and objects: same result as from a list
        return stack(column.tolist(), out, allocate=allocate)
    if out is None or not _fits(out, column.shape, column.dtype):
        return column
    np.copyto(out, column)
    return out


def _stack_rows(column: Ragged | Sparse, out: NDArray[Any] | None, origin: Origin, allocate: Allocate) -> Stack:
    """Stack the rows of a column: arrays among them must agree in length, as in a list."""
    if isinstance(column, Sparse):
        return column if column.ndim > 1 else _stack_array(column.to_dense(), out, allocate)
    if column.ragged_rank > 1:
        return column
    lengths = column.row_lengths()
    if len(lengths) and (lengths != lengths[0]).any():
        refuse_different(list(map(leaf_spec, column)), origin)
    size = int(lengths[0]) if len(lengths) else 0
    return _stack_array(column.flat_values.reshape(len(column), size, *column.shape[2:]), out, allocate)


def _rows(column: list[Any], out: NDArray[Any] | None, origin: Origin, allocate: Allocate) -> Stack:
    """Stack values that are all `Ragged`, or all `Sparse`; the number of rows of `Ragged` values may differ."""
    specs = [
        replace(spec, shape=(None, *spec.shape[1:]), row_splits_dtype=_INT64) if isinstance(spec, RaggedSpec) else spec
        for spec in map(leaf_spec, column)
    ]
    if len(set(specs)) > 1:
        refuse_different(specs, origin)
    return type(column[0]).stack(column, allocate)


def _as_large_as_the_largest(
    column: list[Sparse], out: NDArray[Any] | None, origin: Origin, allocate: Allocate
) -> Sparse:
    """Stack `Sparse` values that may differ in shape."""
    specs = [SparseSpec((None,) * value.ndim, value.dtype) for value in column]
    if len(set(specs)) > 1:
        refuse_different(specs, origin)
    return Sparse.stack(column, allocate, shape=_largest_shape([value.dense_shape for value in column]))


def _largest_shape(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(max, zip(*shapes, strict=True)))


def _scalars(
    column: list[Any], dtype: np.dtype[Any], out: NDArray[Any] | None, origin: Origin, allocate: Allocate
) -> NDArray[Any]:
    try:
        values = np.array(column, dtype)
    except OverflowError:
        _refuse_wide_integer(column, origin)
    if allocate is np.empty and out is None:
        return values
    result = _memory(out, values.shape, dtype, allocate)
    result[...] = values
    return result


def _arrays(column: list[NDArray[Any]], out: NDArray[Any] | None, origin: Origin, allocate: Allocate) -> NDArray[Any]:
    shape, dtype = column[0].shape, column[0].dtype
    if len({array.shape for array in column}) > 1 or len({array.dtype for array in column}) > 1:
        refuse_different([ArraySpec(array.shape, array.dtype) for array in column], origin)
    result = _memory(out, (len(column), *shape), dtype, allocate)
    if shape and result.flags.c_contiguous:
        # (k, n, ...) viewed as (k·n, ...): one call for all, without an array object or a Python step per value.
        np.concatenate(column, out=result.reshape(len(column) * shape[0], *shape[1:]))
    else:
        for i, array in enumerate(column):
            result[i] = array[()]
    return result


def _objects(column: list[Any], out: NDArray[Any] | None, origin: Origin, allocate: Allocate) -> NDArray[Any]:
    result = _memory(out, (len(column),), _OBJECT, allocate)
    for i, value in enumerate(column):  # not `result[:] = column`, which unpacks lists among the objects
        result[i] = value
    return result


def _texts(column: list[Any], out: NDArray[Any] | None, origin: Origin, allocate: Allocate) -> NDArray[Any]:
    result = _memory(out, (len(column),), _OBJECT, allocate)
    result[:] = column
    return result


def refuse_masks(column: list[Any], origin: Origin) -> None:
    """Raise an error that names the first masked array of a column, if there is one."""
    for at, value in enumerate(column):
        if is_masked(value):
            raise origin.misfit(f"the masked array of {origin.one(at)}{origin.where} would lose its mask; {FILL}", at)


def _mixed(column: list[Any], out: NDArray[Any] | None, origin: Origin, allocate: Allocate) -> NDArray[Any]:
    """Stack values of several types, or of a type whose values must be checked one by one."""
    if not column:
        return _memory(out, (0,), np.dtype(np.float64), allocate) if out is None or len(out) else out
    refuse_masks(column, origin)
    specs = _specs(column, origin)
    first = specs[0]
    if all(are_objects(spec, first) for spec in specs):
        return _objects(column, out, origin, allocate)
    if not isinstance(first, ArraySpec) or any(spec != first for spec in specs):
        refuse_different(specs, origin)
    if first.shape:
        return _arrays([np.asarray(value) for value in column], out, origin, allocate)
    if first.dtype == _INT64 and not all(type(value) is np.int64 for value in column):
        return _scalars([value if isinstance(value, int) else np.asarray(value).item() for value in column],
                        _INT64, out, origin, allocate)  # fmt: skip
    result = _memory(out, (len(column),), first.dtype, allocate)
    for i, value in enumerate(column):
        result[i] = np.asarray(value)[()] if is_array_like(value) else value
    return result


_VIEWABLE = "one that NumPy can view, by tensor.float(), detach() or to_dense()"


def _specs(column: list[Any], origin: Origin) -> list[LeafSpec]:
    """Return the specs of values; an error of a value that cannot become an array names the operation and the type."""
    specs: list[LeafSpec] = []
    try:
        specs.extend(map(leaf_spec, column))
    except Exception as error:
        at = len(specs)  # those before the error are there
        cls = type(column[at])
        which = f"the {cls.__name__} of {origin.one(at)}{origin.where}"
        wanted = _VIEWABLE if cls.__module__ == "torch" else "one of NumPy"
        add_blame(error, Blame(detail=f"{origin.operation}: {which} cannot become an array; map() it to {wanted}"))
        raise
    return specs


_OF_ONE_TYPE: dict[type, Callable[[list[Any], NDArray[Any] | None, Origin, Allocate], Stack]] = {
    np.ndarray: _arrays,
    Ragged: _rows,
    Sparse: _rows,
    bytes: _texts,
    str: _texts,
}


def _memory(out: NDArray[Any] | None, shape: tuple[int, ...], dtype: np.dtype[Any], allocate: Allocate) -> NDArray[Any]:
    if out is not None and _fits(out, shape, dtype):
        return out
    return np.empty(shape, dtype) if dtype.hasobject else allocate(shape, dtype)


def _fits(out: NDArray[Any], shape: tuple[int, ...], dtype: np.dtype[Any]) -> bool:
    return out.shape == shape and out.dtype == dtype


def refuse_different(specs: Sequence[LeafSpec], origin: Origin, remedy: str | None = None) -> NoReturn:
    """Raise an `ElementError` that names the first of `specs` and the first that differs from it."""
    first = specs[0]
    other = next(i for i, spec in enumerate(specs) if spec != first and not are_objects(spec, first))
    second = specs[other]
    here = f"{origin.name(0, other)} differ{origin.where}"
    if isinstance(first, ObjectSpec) or isinstance(second, ObjectSpec) or type(first) is not type(second):
        problem = f"{first!r} against {second!r}; return the same type for every row"
    elif first.dtype != second.dtype:
        problem = f"dtype {first.dtype} against {second.dtype}; {_dtype_remedy(first, second)}"
    else:
        if isinstance(first, ArraySpec) and len(first.shape) != len(second.shape):
            remedy = "return the same number of dimensions for every row"
        problem = f"shape {_shape(first)} against {_shape(second)}; {remedy or _REMEDY[type(first)]}"
    raise origin.misfit(f"{here}: {problem}", 0, other)


def _dtype_remedy(*specs: ArraySpec | RaggedSpec | SparseSpec) -> str:
    first, second = (spec.dtype for spec in specs)
    if first.kind == second.kind and first.kind in "SU":
        return "use .astype(object) for texts of any length"
    remedy = "return the same dtype for every row"
    maybe_empty = any(spec.dtype == np.float64 and spec.shape[:1] in ((0,), (None,)) for spec in specs)
    return f"{remedy} (np.array([]) is float64)" if maybe_empty and not first.kind == second.kind == "f" else remedy


_REMEDY = {
    ArraySpec: "crop, resize or pad them to one shape, or use padded_batch or ragged_batch",
    RaggedSpec: "only rows may have different lengths: the other dimensions must agree",
    SparseSpec: "make them of one dense_shape",
}


def _shape(spec: ArraySpec | RaggedSpec | SparseSpec) -> str:
    return str(spec.shape).replace("None", "?") if isinstance(spec, ArraySpec) else repr(spec)


def are_objects(a: LeafSpec, b: LeafSpec) -> bool:
    """Return True if two specs are of objects that one array may hold: any but a text and bytes."""
    return isinstance(a, ObjectSpec) and isinstance(b, ObjectSpec) and {a.type, b.type} != {str, bytes}


def _refuse_wide_integer(column: list[Any], origin: Origin) -> NoReturn:
    bad, value = next((i, v) for i, v in enumerate(column) if not -(2**63) <= v < 2**63)
    hint = "return np.uint64(value)" if 0 <= value < 2**64 else "return a float or a string"
    shown = str(value) if abs(value) < 2**128 else f"an integer of {value.bit_length()} bits"
    problem = f"the integer of {origin.one(bad)}{origin.where} does not fit int64: {shown}; {hint} for every row"
    raise origin.misfit(problem, bad)
