"""Signatures of generators in the forms of `tf.data`, and elements made to fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from penstock.core.checks import is_one_of
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec, RaggedSpec, SparseSpec
from penstock.elements.structure import flatten, unflatten

_NUMBERS = (int, float, complex, list, tuple, np.ndarray, np.generic)


def TensorSpec(shape: Sequence[int | None], dtype: DTypeLike = np.float32, name: str | None = None) -> LeafSpec:  # noqa: N802 - its name in TensorFlow
    """One leaf of a signature: an array of this shape, `None` for a dimension that may differ; a scalar where it is ().

    The dtype is NumPy's; `str` and `bytes` are texts, which have no shape.

    >>> TensorSpec(shape=(None, 3), dtype=np.int32), TensorSpec((), str)
    (int32[?, 3], str)
    """
    if dtype is str or dtype is bytes:
        return ObjectSpec(dtype)
    return ArraySpec(_sizes("TensorSpec", shape), np.dtype(dtype))


def RaggedTensorSpec(  # noqa: N802 - the same
    shape: Sequence[int | None],
    dtype: DTypeLike = np.float32,
    ragged_rank: int | None = None,
    row_splits_dtype: DTypeLike = np.int64,
) -> LeafSpec:
    """One leaf of a signature that is a `penstock.Ragged`; all dimensions but the first are ragged, unless told.

    >>> RaggedTensorSpec((None, None), np.int64)
    ragged int64[?, ~]
    """
    sizes = _sizes("RaggedTensorSpec", shape)
    rank = len(sizes) - 1 if ragged_rank is None else ragged_rank
    return RaggedSpec(sizes, np.dtype(dtype), rank, np.dtype(row_splits_dtype))


def SparseTensorSpec(shape: Sequence[int | None], dtype: DTypeLike = np.float32) -> LeafSpec:  # noqa: N802 - the same
    """One leaf of a signature that is a `penstock.Sparse`.

    >>> SparseTensorSpec((None, 100), np.int64)
    sparse int64[?, 100]
    """
    return SparseSpec(_sizes("SparseTensorSpec", shape), np.dtype(dtype))


def _sizes(call: str, shape: Any) -> tuple[int | None, ...]:
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TypeError(
            f"{call}(shape={shape!r}): expected a size for each dimension, None where it may differ, as (None, 3)"
        )
    return tuple(None if size is None or size == -1 else int(size) for size in shape)


def of_types(types: Any, shapes: Any) -> tuple[Any, Any]:
    """What the older arguments `output_types` and `output_shapes` say: a nesting of dtypes, and one of specs or `None`.

    Without shapes nothing is known but the dtypes.

    >>> of_types({"x": np.int32}, {"x": [None]})
    ({'x': dtype('int32')}, {'x': int32[?]})
    """
    dtypes, structure = flatten(types)
    kept = [dtype if is_one_of(dtype, str, bytes) else _dtype_of(dtype) for dtype in dtypes]
    nest = unflatten(structure, kept)
    if shapes is None:
        return nest, None
    given: list[Any] = structure.treespec.flatten_up_to(shapes)
    return nest, unflatten(structure, map(TensorSpec, given, kept))


def _dtype_of(given: Any) -> np.dtype[Any]:
    try:
        return np.dtype(given)
    except TypeError as error:
        raise TypeError(f"from_generator(output_types={given!r:.60}): expected dtypes, str or bytes: {error}") from None


def dtypes_of(signature: Any) -> Any:
    """The dtype of each leaf of a signature that is an array, in its nesting; of others a type, which converts nothing.

    >>> dtypes_of((TensorSpec((), np.int32), TensorSpec((), str)))
    (dtype('int32'), <class 'str'>)
    """
    leaves, structure = flatten(signature)
    return unflatten(structure, [leaf.dtype if isinstance(leaf, ArraySpec) else str for leaf in leaves])


@dataclass(frozen=True)
class Fitting:
    """A generator function whose elements are made to fit dtypes: numbers, lists and arrays become arrays of them.

    A conversion that could change values beyond their precision (1.5 to an integer) is not made: the element stays as
    it is, to be refused.
    """

    function: Callable[..., Iterable[Any]]
    dtypes: Any

    def __call__(self, *args: Any) -> Iterator[Any]:
        return _Fitted(iter(self.function(*args)), self.dtypes)


class _Fitted:
    """The elements of an iterator, each made to fit; its other methods (`state_dict`, `close`) are the iterator's."""

    def __init__(self, elements: Iterator[Any], dtypes: Any) -> None:
        self._elements = elements
        self._dtypes, self._structure = flatten(dtypes)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        element = next(self._elements)
        try:
            leaves = self._structure.treespec.flatten_up_to(element)
        except (ValueError, TypeError):
            return element  # the check against the signature says what is wrong
        return unflatten(self._structure, map(_fitted, leaves, self._dtypes))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._elements, name)


def _fitted(leaf: Any, dtype: Any) -> Any:
    if not isinstance(dtype, np.dtype) or not isinstance(leaf, _NUMBERS):
        return leaf
    array = np.asarray(leaf)
    if array.dtype == dtype and isinstance(leaf, np.ndarray | np.generic):
        return leaf
    if array.dtype.kind in "iu" and dtype.kind in "iu":  # whether they fit, only the values tell
        made = array.astype(dtype)
        return made[()] if np.array_equal(made, array) else leaf
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        return leaf
    return array.astype(dtype)[()]
