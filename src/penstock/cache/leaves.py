"""The leaves of kept elements: their kinds, and the arrays of bytes that each is made of."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core import pickling
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.chunks.sharing import with_sealed_arrays
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse, make_sparse

_INT64 = np.dtype(np.int64)
_BYTES = np.dtype(np.uint8)
_NUMBERS: dict[type, np.dtype[Any]] = {
    bool: np.dtype(np.bool_), int: _INT64, float: np.dtype(np.float64), complex: np.dtype(np.complex128)
}  # fmt: skip
_NUMERIC = "?biufcmM"  # kinds of dtypes whose scalars are kept by their bytes


@frozen()
class PartForm:
    """The dtype of an array, as text, and its shape, with `None` for sizes that differ from row to row."""

    dtype: str
    shape: tuple[int | None, ...]

    @cached_property
    def known(self) -> np.dtype[Any]:
        """The dtype."""
        return np.dtype(ast.literal_eval(self.dtype) if self.dtype[:1] in ("[", "{") else self.dtype)

    @cached_property
    def fixed(self) -> tuple[tuple[int, ...], np.dtype[Any], int] | None:
        """The shape, dtype and bytes of the array, if these are the same in all rows."""
        shape = tuple(size for size in self.shape if size is not None)
        return (shape, self.known, self.bytes_of(shape)) if len(shape) == len(self.shape) else None

    def bytes_of(self, shape: tuple[int, ...]) -> int:
        """Return the bytes of an array of this dtype."""
        return prod(shape) * self.known.itemsize


@frozen()
class LeafForm:
    """The kind of a leaf, and the arrays that it consists of.

    Kinds: `number` (Python's), `scalar` (NumPy's), `array`, `bytes`, `str`, `ragged`, `sparse`, and `object`: anything
    else, pickled.
    """

    kind: str
    parts: tuple[PartForm, ...]


_BLOB = (PartForm("|u1", (None,)),)
BYTES, TEXT, OBJECT = (LeafForm(kind, _BLOB) for kind in ("bytes", "str", "object"))
_OF_NUMBERS = {cls: LeafForm("number", (PartForm(dtype.str, ()),)) for cls, dtype in _NUMBERS.items()}
_SIMPLE: dict[type, LeafForm] = {**_OF_NUMBERS, bytes: BYTES, str: TEXT}
PYTHONS_OWN = frozenset(dtype for cls, dtype in _NUMBERS.items() if cls is not complex)
"""The dtypes of columns of numbers whose elements are Python's own numbers."""


def leaf_form(value: Any) -> LeafForm:
    """Return the form of a leaf; no size of an array is part of it.

    >>> leaf_form(3), leaf_form(np.zeros((2, 3), np.float32))
    (LeafForm(kind='number', parts=(PartForm(dtype='<i8', shape=()),)),
     LeafForm(kind='array', parts=(PartForm(dtype='<f4', shape=(None, None)),)))
    """
    cls = type(value)
    simple = _SIMPLE.get(cls)
    if simple is not None:
        return simple if cls is not int or -(1 << 63) <= value < 1 << 63 else OBJECT
    if cls is np.ndarray:
        return _of_array(value.dtype, value.ndim)
    if isinstance(value, np.generic):
        return _of_scalar(value.dtype) if value.dtype.kind in _NUMERIC else OBJECT
    if cls is Ragged:
        return _of_ragged(value.dtype, value.flat_values.shape[1:], value.row_splits.dtype, value.ragged_rank)
    if cls is Sparse:
        return _of_sparse(value.dtype, value.ndim)
    return OBJECT


def form_of_rows(column: NDArray[Any]) -> LeafForm:
    """Return the form of the rows of an array, whose shape is known."""
    dtype, shape = column.dtype, column.shape[1:]
    text = dtype_text(dtype)
    if text is None:
        return OBJECT
    kind = "array" if shape else "number" if dtype in PYTHONS_OWN else "scalar"
    return LeafForm(kind, (PartForm(text, shape),))


@lru_cache(maxsize=1024)
def dtype_text(dtype: np.dtype[Any]) -> str | None:
    """Return a text that identifies a dtype of plain bytes, or `None` if there is none."""
    if dtype.hasobject or dtype.itemsize == 0:
        return None
    told = np.lib.format.dtype_to_descr(dtype) if dtype.names else dtype.str
    text = told if isinstance(told, str) else repr(told)
    try:
        return text if PartForm(text, ()).known == dtype else None
    except (TypeError, ValueError):  # a dtype that a library has added
        return None


@lru_cache(maxsize=1024)
def _of_array(dtype: np.dtype[Any], ndim: int) -> LeafForm:
    text = dtype_text(dtype)
    return OBJECT if text is None else LeafForm("array", (PartForm(text, (None,) * ndim),))


@lru_cache(maxsize=1024)
def _of_scalar(dtype: np.dtype[Any]) -> LeafForm:
    text = dtype_text(dtype)
    return OBJECT if text is None else LeafForm("scalar", (PartForm(text, ()),))


@lru_cache(maxsize=1024)
def _of_ragged(dtype: np.dtype[Any], inner: tuple[int, ...], splits: np.dtype[Any], rank: int) -> LeafForm:
    text = dtype_text(dtype)
    levels = (PartForm(splits.str, (None,)),) * rank
    return OBJECT if text is None else LeafForm("ragged", (PartForm(text, (None, *inner)), *levels))


@lru_cache(maxsize=1024)
def _of_sparse(dtype: np.dtype[Any], ndim: int) -> LeafForm:
    text = dtype_text(dtype)
    indices, shape = PartForm(_INT64.str, (None, ndim)), PartForm(_INT64.str, (ndim,))
    return OBJECT if text is None else LeafForm("sparse", (indices, PartForm(text, (None,)), shape))


def leaf_parts(form: LeafForm, value: Any) -> list[NDArray[Any]]:
    """Return the arrays of a leaf of this form; an object that cannot be pickled raises an error of its own."""
    if form.kind == "bytes":
        return [np.frombuffer(value, np.uint8)]
    if form.kind == "str":
        return [np.frombuffer(value.encode("utf-8", "surrogatepass"), np.uint8)]
    if form.kind == "object":
        return [np.frombuffer(pickled(value), np.uint8)]
    if form.kind == "ragged":
        return [value.flat_values, *value.nested_row_splits]
    if form.kind == "sparse":
        return [value.indices, value.values, np.array(value.dense_shape, np.int64)]
    return [np.asarray(value, form.parts[0].known)]


def put_together(form: LeafForm, parts: list[NDArray[Any]]) -> Any:
    """Return the leaf of this form whose arrays are `parts`, which must be read-only."""
    return _TOGETHER[form.kind](parts)


def _ragged(parts: list[NDArray[Any]]) -> Any:
    values: Any = parts[0]
    for splits in reversed(parts[1:]):
        values = Ragged(values, splits)
    return values


_TOGETHER: dict[str, Callable[[list[NDArray[Any]]], Any]] = {
    "number": lambda parts: parts[0].item(),
    "scalar": lambda parts: parts[0][()],
    "array": lambda parts: parts[0],
    "bytes": lambda parts: parts[0].tobytes(),
    "str": lambda parts: parts[0].tobytes().decode("utf-8", "surrogatepass"),
    "ragged": _ragged,
    "sparse": lambda parts: make_sparse(parts[0], parts[1], tuple(parts[2].tolist())),
    "object": lambda parts: with_sealed_arrays([pickle.loads(parts[0].data)])[0],  # noqa: S301 - documented: it runs code
}


def pickled(value: Any) -> bytes:
    """Return a value pickled: by reference to its class where it can be imported, otherwise with it."""
    try:
        return pickle.dumps(value, protocol=5)
    except Exception:  # noqa: BLE001 - each class fails in its own way
        return pickling.dumps(value, protocol=5)
