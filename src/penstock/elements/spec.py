"""The specs of elements: the shape and dtype, or the type, of each leaf."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, TypeAlias

import numpy as np

from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.nested import structure as structures
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

Spec: TypeAlias = Any
"""A nested structure with a `LeafSpec` for each leaf; `None` if nothing is known."""

_INT64 = np.dtype(np.int64)


@frozen(repr=False)
class ArraySpec:
    """The shape and dtype of an array or scalar leaf; `None` in the shape is an unknown size.

    An array of varying length, a row of `Ragged`, holds the dtype of the splits that its batches get; its first
    dimension is shown as `~`.

    >>> ArraySpec((None, 224, 3), np.dtype(np.uint8)), ArraySpec((), np.dtype(np.int64))
    (uint8[?, 224, 3], int64)
    >>> ArraySpec((None,), np.dtype(np.int64), np.dtype(np.int32))
    int64[~]
    """

    __penstock_leaf__: ClassVar[bool] = True

    shape: tuple[int | None, ...]
    dtype: np.dtype[Any]
    row_splits_dtype: np.dtype[Any] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    @property
    def known(self) -> bool:
        """True if every size is known."""
        return None not in self.shape

    def __repr__(self) -> str:
        sizes = ["?" if size is None else str(size) for size in self.shape]
        if self.row_splits_dtype is not None:
            sizes[0] = "~"
        return f"{self.dtype}[{', '.join(sizes)}]" if self.shape else str(self.dtype)


@frozen(repr=False)
class ObjectSpec:
    """The type of a leaf that is not an array: `bytes`, `str`, or any other Python object.

    >>> ObjectSpec(str)
    str
    """

    __penstock_leaf__: ClassVar[bool] = True

    type: type

    def __repr__(self) -> str:
        return self.type.__name__


@frozen(repr=False)
class RaggedSpec:
    """The shape and dtype of a `Ragged` leaf: the `ragged_rank` dimensions after the first are `None`, shown as `~`.

    >>> RaggedSpec((8, None, 3), np.dtype(np.float32)), RaggedSpec((None, None, None), np.dtype(np.int64), 2)
    (ragged float32[8, ~, 3], ragged int64[?, ~, ~])
    """

    __penstock_leaf__: ClassVar[bool] = True

    shape: tuple[int | None, ...]
    dtype: np.dtype[Any]
    ragged_rank: int = 1
    row_splits_dtype: np.dtype[Any] = _INT64

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        object.__setattr__(self, "row_splits_dtype", np.dtype(self.row_splits_dtype))

    def __repr__(self) -> str:
        ragged = range(1, self.ragged_rank + 1)
        sizes = ["~" if i in ragged else "?" if size is None else str(size) for i, size in enumerate(self.shape)]
        splits = "" if self.row_splits_dtype == _INT64 else f" with {self.row_splits_dtype} splits"
        return f"ragged {self.dtype}[{', '.join(sizes)}]{splits}"


@frozen(repr=False)
class SparseSpec:
    """The shape and dtype of a `Sparse` leaf; `None` in the shape is an unknown size.

    >>> SparseSpec((None, 1000), np.dtype(np.float32))
    sparse float32[?, 1000]
    """

    __penstock_leaf__: ClassVar[bool] = True

    shape: tuple[int | None, ...]
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(self.shape))
        object.__setattr__(self, "dtype", np.dtype(self.dtype))

    def __repr__(self) -> str:
        return f"sparse {ArraySpec(self.shape, self.dtype)!r}"


Splits: TypeAlias = tuple[np.dtype[Any] | None, ...]
"""The dtype of the splits of each leaf's batches, for leaves that are known to be rows of `Ragged`."""
LeafSpec: TypeAlias = ArraySpec | ObjectSpec | RaggedSpec | SparseSpec
"""The spec of one leaf."""
_OBJECT = np.dtype(object)
_PYTHON_SCALARS: dict[type, np.dtype[Any]] = {
    bool: np.dtype(np.bool_),
    int: _INT64,
    float: np.dtype(np.float64),
    complex: np.dtype(np.complex128),
}


def spec_of(element: Any) -> Spec:
    """Return the spec of one element.

    A Python `int` is an `int64`, and a `float` a `float64`. Strings and bytes are objects, including NumPy's. An
    object with `__array__` (a tensor, a picture) is an array, unless NumPy has no such array (a sparse tensor).

    >>> spec_of({"image": np.zeros((28, 28), np.uint8), "label": 3, "name": "seven"})
    {'image': uint8[28, 28], 'label': int64, 'name': str}
    """
    leaves, structure = structures.flatten(element)
    return structures.unflatten(structure, map(_array_or_object, leaves))


def _array_or_object(leaf: Any) -> LeafSpec:
    try:
        return leaf_spec(leaf)
    except Exception:  # noqa: BLE001 - of any class: it cannot become an array
        return ObjectSpec(type(leaf))


def leaf_spec(leaf: Any) -> LeafSpec:
    """Return the spec of one leaf; raise the error of one with `__array__` that cannot become an array."""
    dtype = _PYTHON_SCALARS.get(type(leaf))
    if dtype is not None:
        return ArraySpec((), dtype)
    if isinstance(leaf, (bytes, str)):
        return ObjectSpec(bytes if isinstance(leaf, bytes) else str)
    if isinstance(leaf, (np.ndarray, np.generic)):
        return ArraySpec(leaf.shape, leaf.dtype)
    return _uncommon_spec(leaf)


def _uncommon_spec(leaf: Any) -> LeafSpec:
    if isinstance(leaf, Ragged):
        return RaggedSpec(leaf.shape, leaf.dtype, leaf.ragged_rank, leaf.row_splits.dtype)
    if isinstance(leaf, Sparse):
        return SparseSpec(leaf.shape, leaf.dtype)
    if isinstance(leaf, (int, float, complex)):  # an integer enumeration, for example
        return ArraySpec((), next(dtype for cls, dtype in _PYTHON_SCALARS.items() if isinstance(leaf, cls)))
    if is_array_like(leaf):
        array: np.ndarray[Any, Any] = np.asarray(leaf)
        return ArraySpec(array.shape, array.dtype)
    return ObjectSpec(type(leaf))


def is_array_like(leaf: Any) -> bool:
    """Return True if a leaf other than a NumPy array can become one: a tensor, a Pillow image, a series."""
    cls = type(leaf)
    return hasattr(cls, "__array__") or hasattr(cls, "__array_interface__")


def batched(spec: Spec, size: int | None) -> Spec:
    """Return the spec of a batch of `size` elements (`None`: not known); objects become an array of objects.

    >>> batched((ArraySpec((3,), np.dtype("f4")), ObjectSpec(bytes)), 8)
    (float32[8, 3], object[8])
    """

    def batch(_: str, leaf: LeafSpec) -> LeafSpec:
        if isinstance(leaf, ObjectSpec):
            return ArraySpec((size,), _OBJECT)
        if isinstance(leaf, RaggedSpec):
            shape = (size, None, *leaf.shape[1:])
            return RaggedSpec(shape, leaf.dtype, leaf.ragged_rank + 1, leaf.row_splits_dtype)
        shape = (size, *leaf.shape)
        return SparseSpec(shape, leaf.dtype) if isinstance(leaf, SparseSpec) else ArraySpec(shape, leaf.dtype)

    return map_leaves(batch, spec)


def of_any_largest(spec: Spec) -> Spec:
    """Return the spec of an element without the sizes of `Sparse` leaves, which vary.

    >>> of_any_largest((SparseSpec((8, 3), np.dtype("f4")), ArraySpec((2,), np.dtype("f4"))))
    (sparse float32[?, ?], float32[2])
    """

    def loosened(_: str, leaf: LeafSpec) -> LeafSpec:
        return replace(leaf, shape=(None,) * len(leaf.shape)) if isinstance(leaf, SparseSpec) else leaf

    return map_leaves(loosened, spec)


def of_size(spec: Spec, size: int | None) -> Spec:
    """Return the spec of a batch with another number of elements (`None`: not known).

    >>> of_size({"x": ArraySpec((8, 3), np.dtype("f4"))}, None)
    {'x': float32[?, 3]}
    """

    def resized(_: str, leaf: LeafSpec) -> LeafSpec:
        return leaf if isinstance(leaf, ObjectSpec) else replace(leaf, shape=(size, *leaf.shape[1:]))

    return map_leaves(resized, spec)


def uneven_splits(spec: Spec) -> Splits | None:
    """Return the dtype of the splits of each leaf that is a row of `Ragged`; `None` if no leaf is known to vary.

    >>> uneven_splits((ArraySpec((None,), np.dtype("f4"), np.dtype("i8")), ArraySpec((), np.dtype("i4"))))
    (dtype('int64'), None)
    """
    leaves: list[LeafSpec] = [] if spec is None else structures.flatten(spec)[0]
    splits = tuple(leaf.row_splits_dtype if isinstance(leaf, ArraySpec) else None for leaf in leaves)
    differ = any(isinstance(leaf, SparseSpec) and None in leaf.shape for leaf in leaves)
    return splits if differ or any(dtype is not None for dtype in splits) else None


def sliced(spec: Spec) -> Spec:
    """Return the spec of one element of arrays that are sliced along their first dimension.

    >>> sliced({"x": ArraySpec((None, 28), np.dtype("f4"))})
    {'x': float32[28]}
    """

    def take_slice(path: str, leaf: LeafSpec) -> LeafSpec:
        if isinstance(leaf, ObjectSpec) or not leaf.shape:
            where = f" at {path}" if path else ""
            raise ElementError(f"cannot slice {leaf!r}{where}: it has no first dimension")
        if len(leaf.shape) == 1 and leaf.dtype.kind in "OUS":
            return ObjectSpec({"O": object, "U": str, "S": bytes}[leaf.dtype.kind])
        if isinstance(leaf, RaggedSpec) and leaf.ragged_rank > 1:
            return replace(leaf, shape=leaf.shape[1:], ragged_rank=leaf.ragged_rank - 1)
        if isinstance(leaf, RaggedSpec):
            return ArraySpec(leaf.shape[1:], leaf.dtype, leaf.row_splits_dtype)
        if isinstance(leaf, SparseSpec) and len(leaf.shape) > 1:
            return SparseSpec(leaf.shape[1:], leaf.dtype)
        return ArraySpec(leaf.shape[1:], leaf.dtype)

    return map_leaves(take_slice, spec)


def relax(first: Spec, second: Spec) -> Spec | None:
    """Return the narrowest spec that covers both, or `None` if they do not fit together.

    Dimensions that differ become unknown; objects of different types become `object`.

    >>> relax(ArraySpec((None, 3), np.dtype("f4")), ArraySpec((2, 3), np.dtype("f4")))
    float32[?, 3]
    """
    pairs = _pairs(first, second)
    if pairs is None:
        return None
    relaxed = [_relax_leaf(a, b) for a, b in pairs]
    if any(leaf is None for leaf in relaxed):
        return None
    return structures.unflatten(structures.flatten(first)[1], relaxed)


def compatible(first: Spec, second: Spec) -> bool:
    """Return True if one element could have both specs: known dimensions, dtypes and types are equal."""
    pairs = _pairs(first, second)
    return pairs is not None and all(_compatible_leaf(a, b) for a, b in pairs)


def describe(spec: Spec) -> str:
    """Return one line that shows the spec.

    >>> describe({"image": ArraySpec((28, 28), np.dtype("u1")), "name": ObjectSpec(str)})
    '{"image": uint8[28, 28], "name": str}'
    """
    if spec is None:
        return "unknown"
    leaves, structure = structures.flatten(spec)
    return structures.describe_structure(structure, map(repr, leaves))


def map_leaves(function: Callable[[str, Any], Any], spec: Spec) -> Spec:
    """Return the spec with each leaf replaced by `function(path, leaf)`; `None` stays `None`."""
    if spec is None:
        return None
    leaves, structure = structures.flatten(spec)
    return structures.unflatten(structure, map(function, structures.paths(structure), leaves))


def _pairs(first: Spec, second: Spec) -> list[tuple[Any, Any]] | None:
    """Return the pairs of leaves of both, or `None` if the structures differ or nothing is known."""
    if first is None or second is None:
        return None
    first_leaves, first_structure = structures.flatten(first)
    second_leaves, second_structure = structures.flatten(second)
    return list(zip(first_leaves, second_leaves, strict=True)) if first_structure == second_structure else None


def _relax_leaf(a: LeafSpec, b: LeafSpec) -> LeafSpec | None:
    if isinstance(a, ObjectSpec) or isinstance(b, ObjectSpec):
        if type(a) is not type(b):
            return None
        return a if a == b else ObjectSpec(object)
    if not _of_one_kind(a, b):
        return None
    shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
    if isinstance(a, RaggedSpec) and isinstance(b, RaggedSpec):
        return replace(a, shape=shape, row_splits_dtype=np.result_type(a.row_splits_dtype, b.row_splits_dtype))
    if isinstance(a, ArraySpec) and isinstance(b, ArraySpec):
        both = a.row_splits_dtype is not None and b.row_splits_dtype is not None
        splits = np.result_type(a.row_splits_dtype, b.row_splits_dtype) if both else None
        return ArraySpec(shape, a.dtype, splits)
    return replace(a, shape=shape)


def _compatible_leaf(a: LeafSpec, b: LeafSpec) -> bool:
    if isinstance(a, ObjectSpec) and isinstance(b, ObjectSpec):
        return issubclass(a.type, b.type) or issubclass(b.type, a.type)
    if isinstance(a, ObjectSpec) or isinstance(b, ObjectSpec):
        return False
    return _of_one_kind(a, b) and all(None in (x, y) or x == y for x, y in zip(a.shape, b.shape, strict=True))


def _of_one_kind(a: ArraySpec | RaggedSpec | SparseSpec, b: ArraySpec | RaggedSpec | SparseSpec) -> bool:
    if type(a) is not type(b) or a.dtype != b.dtype or len(a.shape) != len(b.shape):
        return False
    return getattr(a, "ragged_rank", 0) == getattr(b, "ragged_rank", 0)
