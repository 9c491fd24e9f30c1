"""Decode the bytes of a column of samples: numbers, text, arrays, pictures; other encodings stay bytes."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec

_DAMAGE = (ValueError, ArithmeticError, LookupError, struct.error, RecursionError)
_MODES = {
    **dict.fromkeys(("L", "P"), ("|u1", 1)),
    **dict.fromkeys(("LA", "La", "PA"), ("|u1", 2)),
    **dict.fromkeys(("RGB", "YCbCr", "HSV", "LAB"), ("|u1", 3)),
    **dict.fromkeys(("RGBA", "RGBa", "RGBX", "CMYK"), ("|u1", 4)),
    "I": ("<i4", 1),
    "F": ("<f4", 1),
    "I;16": ("<u2", 1),
}  # Pillow's modes: dtype and channels


@frozen()
class Encoding:
    """The encoding of a column's values; `spec` is `None` if only decoding finds the type.

    With a `dtype`, values have this `shape` and are stored as their memory. Otherwise `one` decodes each, or the bytes
    stay as they are. Values that are `nested` may be dicts and lists, which become part of the element.
    """

    name: str
    spec: Spec
    dtype: np.dtype[Any] | None = None
    shape: tuple[int, ...] = ()
    one: Callable[[bytes], Any] | None = field(default=None, compare=False)
    nested: bool = False

    @property
    def size(self) -> int | None:
        """Bytes of a value, if all have the same size."""
        return None if self.dtype is None else self.dtype.itemsize * math.prod(self.shape)

    def column(self, values: list[bytes]) -> Column:
        """Decode values, of `size` bytes each if known; a `DataError` has the index of the value as `element`."""
        if self.dtype is not None:
            return np.frombuffer(b"".join(values), self.dtype).reshape(len(values), *self.shape)
        if self.one is None:
            return list(values)
        made: list[Any] = []
        try:
            for value in values:
                made.append(self.one(value))  # noqa: PERF401 - the count tells which value failed
        except _DAMAGE as error:
            failure = DataError(str(error))
            failure.element = len(made)
            raise failure from None
        return _numbers(made, self.spec.dtype) if isinstance(self.spec, ArraySpec) and not self.spec.shape else made


def _numbers(values: list[Any], dtype: np.dtype[Any]) -> Column:
    try:
        return np.array(values, dtype)
    except OverflowError:
        return values  # whole numbers beyond int64 stay Python's


def as_bytes(name: str) -> Encoding:
    """Return the encoding of plain bytes: pictures for `ps.image.decode`, sound for `ps.audio.decode`, pickles."""
    return Encoding(name, ObjectSpec(bytes))


def fixed(name: str, dtype: str, shape: Sequence[int] = ()) -> Encoding:
    """Return the encoding of arrays of one shape, stored as their memory."""
    kind = np.dtype(dtype)
    return Encoding(name, ArraySpec(tuple(shape), kind.newbyteorder("=")), kind, tuple(shape))


def text(name: str) -> Encoding:
    """Return the encoding of UTF-8 text."""
    return Encoding(name, ObjectSpec(str), one=_text)


def parsed(name: str, kind: type[int | float]) -> Encoding:
    """Return the encoding of numbers in digits."""
    return Encoding(name, ArraySpec((), np.dtype(np.int64 if kind is int else np.float64)), one=_Digits(kind))


def json_values(name: str) -> Encoding:
    """Return the encoding of JSON."""
    return Encoding(name, None, one=json.loads, nested=True)


def arrays(name: str, one: Callable[[bytes], NDArray[Any]]) -> Encoding:
    """Return the encoding of arrays with their own dtype and shape."""
    return Encoding(name, None, one=one)


def picture(name: str) -> Encoding:
    """Return the encoding of Pillow's pixels: width, height, length of the mode (`uint32`), the mode, the pixels."""
    return arrays(name, pixels_of)


def parts(name: str, one: Callable[[bytes], Any] = bytes, *, lead: int = 0) -> Encoding:
    """Return the encoding of lists: after `lead` bytes the number of values, the size of each, then the values."""
    return Encoding(name, None, one=_Parts(one, lead), nested=True)


def shaped(data: bytes, dtype: np.dtype[Any], shape: Sequence[int], begin: int) -> NDArray[Any]:
    """Return the array of this shape stored in the rest of `data`; raise a `ValueError` if the size does not fit."""
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != len(data) - begin:
        raise ValueError(f"{dtype}{list(shape)} takes {wanted} bytes; {len(data) - begin} are left")
    return np.frombuffer(data, dtype, offset=begin).reshape(shape) if wanted else np.empty(shape, dtype)


def pixels_of(data: bytes) -> NDArray[Any]:
    """Return a picture, of shape (height, width) or (height, width, channels)."""
    width, height, length = struct.unpack_from("<III", data)
    mode = data[12 : 12 + length].decode("ascii")
    if mode not in _MODES:
        raise ValueError(f"pictures of mode {mode!r:.20} are not supported")
    dtype, channels = _MODES[mode]
    sides = (height, width, channels) if channels > 1 else (height, width)
    return shaped(data, np.dtype(dtype), sides, 12 + length)


def _text(data: bytes) -> str:
    return data.decode("utf-8")


@frozen()
class _Digits:
    kind: type[int | float]

    def __call__(self, data: bytes) -> int | float:
        return self.kind(data.decode("utf-8"))


@frozen()
class _Parts:
    one: Callable[[bytes], Any]
    lead: int

    def __call__(self, data: bytes) -> list[Any]:
        (count,) = struct.unpack_from("<I", data, self.lead)
        first = self.lead + 4 + 4 * count
        if first > len(data):
            raise ValueError(f"{len(data)} bytes cannot hold the sizes of {count} parts")
        sizes = np.frombuffer(data, "<u4", count, self.lead + 4).astype(np.int64) if count else np.zeros(0, np.int64)
        ends = first + np.cumsum(sizes)
        if (int(ends[-1]) if count else first) != len(data):
            raise ValueError(f"its {count} parts do not add up to its {len(data)} bytes")
        spans = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
        return [self.one(data[begin:end]) for begin, end in spans]
