"""Signatures of generators in the forms of `tf.data`, and conversion of elements to fit them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike

from penstock.core.checks import is_one_of
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.nested import structure as structures
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec, RaggedSpec, SparseSpec, describe, spec_of
from penstock.feed.tensorflow import numpy_dtype, own_specs, sizes_of_shape
from penstock.tf_data import tensors

_TEXTS = np.dtype(object)
_NUMBERS = (int, float, complex, list, tuple, np.ndarray, np.generic)


def TensorSpec(shape: Sequence[int | None], dtype: DTypeLike = np.float32, name: str | None = None) -> LeafSpec:  # noqa: N802 - its name in TensorFlow
    """Return one leaf of a signature: an array of this shape, with `None` for a varying dimension; () for a scalar.

    The dtype is NumPy's; `str` and `bytes` are texts, and arrays of texts have the dtype `object`.

    >>> TensorSpec(shape=(None, 3), dtype=np.int32), TensorSpec((), str), TensorSpec((None,), str)
    (int32[?, 3], str, object[?])
    """
    sizes, kind = _sizes("TensorSpec", shape), _kind_of(dtype)
    if kind is str or kind is bytes:
        return ArraySpec(sizes, _TEXTS) if sizes else ObjectSpec(kind)
    return ArraySpec(sizes, np.dtype(kind))


def RaggedTensorSpec(  # noqa: N802 - the same
    shape: Sequence[int | None],
    dtype: DTypeLike = np.float32,
    ragged_rank: int | None = None,
    row_splits_dtype: DTypeLike = np.int64,
) -> LeafSpec:
    """Return one leaf of a signature that is a `penstock.Ragged`, by default with all dimensions but the first ragged.

    >>> RaggedTensorSpec((None, None), np.int64)
    ragged int64[?, ~]
    """
    sizes = _sizes("RaggedTensorSpec", shape)
    rank = len(sizes) - 1 if ragged_rank is None else ragged_rank
    return RaggedSpec(sizes, _array_dtype(dtype), rank, _array_dtype(row_splits_dtype))


def SparseTensorSpec(shape: Sequence[int | None], dtype: DTypeLike = np.float32) -> LeafSpec:  # noqa: N802 - the same
    """Return one leaf of a signature that is a `penstock.Sparse`.

    >>> SparseTensorSpec((None, 100), np.int64)
    sparse int64[?, 100]
    """
    return SparseSpec(_sizes("SparseTensorSpec", shape), _array_dtype(dtype))


def _sizes(call: str, shape: Any) -> tuple[int | None, ...]:
    sizes = sizes_of_shape(shape) if hasattr(shape, "as_list") or _is_sequence(shape) else None
    if sizes is None:
        raise TypeError(
            f"{call}(shape={shape!r}): expected a size for each dimension, None where it may differ, as (None, 3)"
        )
    return sizes


def _is_sequence(shape: Any) -> bool:
    return isinstance(shape, Sequence) and not isinstance(shape, str)


def _kind_of(dtype: Any) -> Any:
    """Return a dtype of TensorFlow as NumPy's, `bytes` for `tf.string`; others are unchanged."""
    if not hasattr(dtype, "as_numpy_dtype"):
        return dtype
    return bytes if dtype.name == "string" else numpy_dtype(dtype)


def numpy_kind(dtype: Any) -> Any:
    """Return a dtype of TensorFlow or NumPy as NumPy's scalar type, `bytes` for text; `None` for anything else.

    >>> numpy_kind(np.float32), numpy_kind(str), numpy_kind(0.5)
    (<class 'numpy.float32'>, <class 'bytes'>, None)
    """
    kind = _kind_of(dtype)
    if kind is str or kind is bytes:
        return bytes
    is_dtype = isinstance(kind, np.dtype) or (isinstance(kind, type) and issubclass(kind, np.generic | int | float))
    return np.dtype(kind).type if is_dtype else None


def _array_dtype(dtype: Any) -> np.dtype[Any]:
    kind = _kind_of(dtype)
    return _TEXTS if kind is bytes or kind is str else np.dtype(kind)


def of_types(types: Any, shapes: Any) -> tuple[Any, Any]:
    """Return a nesting of dtypes, and a nesting of specs or `None`, for the older `output_types` and `output_shapes`.

    Without shapes only the dtypes are known, and elements are checked against them as they come.

    >>> of_types({"x": np.int32}, {"x": [None]})
    ({'x': dtype('int32')}, {'x': int32[?]})
    """
    dtypes, structure = flatten(tuple(types) if isinstance(types, list) else types)
    kept = [dtype if is_one_of(dtype, str, bytes) else _dtype_of(dtype) for dtype in map(_kind_of, dtypes)]
    nest = unflatten(structure, kept)
    if shapes is None:
        return nest, None
    given: list[Any] = structure.treespec.flatten_up_to(
        cast("Any", tuple(shapes) if isinstance(shapes, list) and isinstance(types, tuple | list) else shapes)
    )
    if any(shape is None or getattr(shape, "rank", 0) is None for shape in given):
        return nest, None  # not even the number of dimensions is known
    return nest, unflatten(structure, map(TensorSpec, given, kept))


def _dtype_of(given: Any) -> np.dtype[Any]:
    try:
        return np.dtype(given)
    except TypeError as error:
        raise TypeError(f"from_generator(output_types={given!r:.60}): expected dtypes, str or bytes: {error}") from None


def dtypes_of(signature: Any) -> Any:
    """Return the dtype of each array leaf of a signature, nested alike; for others, a type that converts nothing.

    >>> dtypes_of((TensorSpec((), np.int32), TensorSpec((), str)))
    (dtype('int32'), <class 'str'>)
    """
    leaves, structure = flatten(signature)
    kinds = [leaf.dtype if isinstance(leaf, ArraySpec) else getattr(leaf, "type", str) for leaf in leaves]
    return unflatten(structure, kinds)


def signature_of(given: Any) -> Any:
    """Return a nesting of specs of TensorFlow, or of Penstock, as Penstock's."""
    if given is None:
        return None
    try:
        return own_specs(given)
    except TypeError as error:
        raise TypeError(f"from_generator(output_signature=): {error}") from None


@frozen()
class Fitting:
    """A generator function whose elements are made to fit dtypes: numbers, lists and arrays become arrays of them.

    A conversion that could change values beyond their precision (1.5 to an integer) is not made: the element stays
    unchanged, to be refused. If no signature refuses it, an element that does not have the nesting and the `dtypes`
    raises an `ElementError` (`checked`).
    """

    function: Callable[..., Iterable[Any]]
    dtypes: Any
    checked: bool = False

    def __call__(self, *args: Any) -> Iterator[Any]:
        return _Fitted(iter(self.function(*args)), self.dtypes, checked=self.checked)


class _Fitted:
    """The elements of an iterator, each made to fit; other methods (`state_dict`, `close`) are the iterator's."""

    def __init__(self, elements: Iterator[Any], dtypes: Any, *, checked: bool) -> None:
        self._elements = elements
        self._checked = checked
        self._dtypes, self._structure = flatten(dtypes)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        element = next(self._elements)
        if tensors.is_loaded():
            element = tensors.all_to_numpy(element)
        try:
            leaves = self._structure.treespec.flatten_up_to(element)
        except (ValueError, TypeError):
            if not self._checked:
                return element  # the check against the signature reports the error
            leaves = []
        fitted = list(map(_fitted, leaves, self._dtypes))
        if self._checked and not (leaves and all(map(_is_of, fitted, self._dtypes))):
            wanted = structures.describe_structure(
                self._structure, [getattr(dtype, "__name__", str(dtype)) for dtype in self._dtypes]
            )
            raise ElementError(
                f"from_generator(output_types=): an element is {describe(spec_of(element))}, but the types are "
                f"{wanted}; yield elements of these types, or correct the types"
            )
        return unflatten(self._structure, fitted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._elements, name)


def _is_of(leaf: Any, dtype: Any) -> bool:
    """Return whether a leaf has the dtype, or is a text or an array of texts where that is wanted."""
    if isinstance(dtype, np.dtype):
        return isinstance(leaf, np.ndarray | np.generic) and leaf.dtype == dtype
    return isinstance(leaf, str | bytes) or (isinstance(leaf, np.ndarray) and _is_of_texts(leaf))


def _is_of_texts(array: np.ndarray[Any, Any]) -> bool:
    if array.dtype.kind != "O":
        return array.dtype.kind in "US"
    return all(isinstance(value, str | bytes) for value in array.flat)


def _fitted(leaf: Any, dtype: Any) -> Any:
    if not isinstance(leaf, _NUMBERS):
        return leaf.encode() if dtype is bytes and isinstance(leaf, str) else leaf
    if not isinstance(dtype, np.dtype) or dtype == _TEXTS:
        texts = np.asarray(leaf, object) if isinstance(leaf, list | tuple | np.ndarray) else None
        return leaf if texts is None or not _is_of_texts(texts) else texts
    array = np.asarray(leaf)
    if array.dtype == dtype and isinstance(leaf, np.ndarray | np.generic):
        return leaf
    if array.dtype.kind in "iu" and dtype.kind in "iu":  # whether they fit, only the values tell
        made = array.astype(dtype)
        return made[()] if np.array_equal(made, array) else leaf
    if array.size and not np.can_cast(array.dtype, dtype, "same_kind"):
        return leaf
    return array.astype(dtype)[()]
