"""Convert values to JSON data and back without loss: numbers, text, bytes, arrays, ragged and sparse ones, nestings."""

from __future__ import annotations

import math
import struct
from base64 import b64decode, b64encode
from collections.abc import Callable
from copy import deepcopy
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from penstock.elements.nested.plain import PLAIN_TYPES
from penstock.elements.nested.structure import flatten, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse

MOST_BYTES = 1 << 20
"""The maximum size of an encoded value."""

_JSON_INTEGERS = 1 << 53  # larger integers lose digits in some JSON readers
_KINDS = "biufcmMSU"  # dtypes whose memory is their value

Classes = tuple[type, ...]


class Encoded(NamedTuple):
    """JSON data of a value, and its approximate length in characters."""

    data: Any
    size: int


class _InexactError(Exception):
    """A value of an unsupported type, or too large."""


def encoded(value: Any, classes: Classes = ()) -> Encoded | None:
    """Return `value` as JSON data that `decoded` turns back into an equal value; `None` if impossible or over 1 MiB.

    The type and dtype are kept (an `int` differs from an `np.int64`, and `True` from 1), and so is every bit of a
    float, including NaNs. Named tuples and dataclasses must be among `classes`, an argument of `decoded` too; see
    `classes_in`.

    >>> encoded((1, np.float32([0.5])))
    Encoded(data=['tuple', [1, ['array', '<f4', [1], 'AAAAPw==']]], size=29)
    >>> encoded(object()) is None
    True
    """
    encoder = _Encoder(classes)
    try:
        return Encoded(encoder.encode(value), encoder.size)
    except (_InexactError, RecursionError):
        return None


def decoded(data: Any, classes: Classes = ()) -> Any:
    """Return the value from data of `encoded`; arrays are new and writeable.

    >>> decoded(encoded({"mean": np.ones(2), "count": 3}).data)
    {'mean': array([1., 1.]), 'count': 3}
    """
    if not isinstance(data, list):
        return data
    tag, *parts = data
    return _DECODERS[tag](classes, *parts)


def copied(value: Any) -> Any:
    """Return the value with new arrays and containers; other objects are shared.

    Arrays become contiguous, like those from `decoded`.
    """
    if type(value) in PLAIN_TYPES or isinstance(value, np.generic):
        return value
    leaves, structure = flatten(value)
    return unflatten(structure, list(map(_copied_leaf, leaves)))


def _copied_leaf(leaf: Any) -> Any:
    if isinstance(leaf, np.ndarray):
        return leaf.copy()
    return deepcopy(leaf) if isinstance(leaf, Ragged | Sparse) else leaf


def classes_in(value: Any) -> Classes:
    """Return the named tuples and dataclasses in the value, each once."""
    found = dict[type, None]()

    def look(value: Any) -> None:
        if _is_record(type(value)):
            found[type(value)] = None
            for part in _fields(value):
                look(part)
        elif isinstance(value, list | tuple):
            for part in value:
                look(part)
        elif isinstance(value, dict):
            for part in value.values():
                look(part)

    look(value)
    return tuple(found)


class _Encoder:
    """A builder of JSON data that counts its size, up to `MOST_BYTES`."""

    def __init__(self, classes: Classes) -> None:
        self.size = 0
        self._classes = classes

    def encode(self, value: Any) -> Any:
        cls = type(value)
        if cls is bool or (cls is int and abs(value) < _JSON_INTEGERS) or (cls is float and math.isfinite(value)):
            self._count(8)
            return value
        if cls is str:
            self._count(len(value))
            return value
        if cls in (list, tuple, dict) or cls in self._classes:
            return self._nesting(value)
        return self._uneven(value) if isinstance(value, Ragged | Sparse) else self._atom(value)

    def _nesting(self, value: Any) -> list[Any]:
        cls = type(value)
        if cls is dict:
            return ["dict", [[self.encode(key), self.encode(part)] for key, part in self._counted(value.items())]]
        if cls in self._classes:
            return ["record", self._classes.index(cls), [self.encode(part) for part in self._counted(_fields(value))]]
        return [cls.__name__, [self.encode(part) for part in self._counted(value)]]

    def _uneven(self, value: Ragged | Sparse) -> list[Any]:
        if isinstance(value, Ragged):
            return ["ragged", self.encode(value.flat_values), [self.encode(each) for each in value.nested_row_splits]]
        return ["sparse", self.encode(value.indices), self.encode(value.values), list(value.dense_shape)]

    def _atom(self, value: Any) -> list[Any]:
        cls = type(value)
        if value is None:
            return ["none"]
        if cls is int:
            self._count(value.bit_length() // 4)
            return ["int", hex(value)]
        if cls is float:
            return ["float", struct.pack("<d", value).hex()]
        if cls is complex:
            return ["complex", struct.pack("<dd", value.real, value.imag).hex()]
        if cls is bytes:
            return ["bytes", self._base64(value, len(value))]
        if cls is np.ndarray or (isinstance(value, np.generic) and cls is value.dtype.type):
            return self._array(value, scalar=cls is not np.ndarray)
        raise _InexactError

    def _array(self, value: Any, *, scalar: bool) -> list[Any]:
        dtype = value.dtype
        empty = dtype.itemsize == 0 and not scalar  # no array can be made of this dtype
        if empty or dtype.kind not in _KINDS or np.dtype(dtype.str) != dtype:
            raise _InexactError
        content = self._base64(value, value.nbytes)
        return ["scalar", dtype.str, content] if scalar else ["array", dtype.str, list(value.shape), content]

    def _base64(self, value: Any, size: int) -> str:
        if size == 0:  # NumPy's empty text takes bytes anyway
            return ""
        self._count(size * 4 // 3)  # count before doing the work
        return b64encode(value if isinstance(value, bytes) else value.tobytes()).decode("ascii")

    def _counted(self, parts: Any) -> Any:
        self._count(8 * len(parts))
        return parts

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > MOST_BYTES * 4 // 3:
            raise _InexactError


def _array_of(classes: Classes, dtype: str, shape: list[int], content: str) -> np.ndarray:
    if not content:  # an array without elements, or an empty text
        return np.zeros(shape, np.dtype(dtype))
    return np.frombuffer(b64decode(content), np.dtype(dtype)).reshape(shape).copy()


def _ragged_of(classes: Classes, values: Any, splits: list[Any]) -> Ragged:
    made = decoded(values, classes)
    for each in reversed(splits):
        made = Ragged(made, decoded(each, classes))
    return made


def _sparse_of(classes: Classes, indices: Any, values: Any, shape: list[int]) -> Sparse:
    return Sparse(decoded(indices, classes), decoded(values, classes), shape)


def _record_of(classes: Classes, which: int, parts: list[Any]) -> Any:
    cls: Any = classes[which]
    values = [decoded(part, classes) for part in parts]
    if issubclass(cls, tuple):
        return cls(*values)
    made = object.__new__(cls)
    for field, value in zip(fields(cls), values, strict=True):
        object.__setattr__(made, field.name, value)  # works for frozen classes too
    return made


_DECODERS: dict[str, Callable[..., Any]] = {
    "none": lambda classes: None,
    "int": lambda classes, digits: int(digits, 16),
    "float": lambda classes, bits: struct.unpack("<d", bytes.fromhex(bits))[0],
    "complex": lambda classes, bits: complex(*struct.unpack("<dd", bytes.fromhex(bits))),
    "bytes": lambda classes, content: b64decode(content),
    "scalar": lambda classes, dtype, content: _array_of(classes, dtype, [], content)[()],
    "array": _array_of,
    "list": lambda classes, parts: [decoded(part, classes) for part in parts],
    "tuple": lambda classes, parts: tuple(decoded(part, classes) for part in parts),
    "dict": lambda classes, pairs: {decoded(key, classes): decoded(part, classes) for key, part in pairs},
    "ragged": _ragged_of,
    "sparse": _sparse_of,
    "record": _record_of,
}


def _is_record(cls: type) -> bool:
    return is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _fields(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return list(value)
    return [getattr(value, field.name) for field in fields(value)]
