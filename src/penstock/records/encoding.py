"""Serialize tf.train.Example and SequenceExample deterministically: equal values give equal bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.core.errors import ElementError
from penstock.elements.leaves.masked import is_masked, refuse_masked

_BYTES, _FLOAT, _INT64 = 0x0A, 0x12, 0x1A  # tags of the three list types of a Feature


def encode_example(features: Mapping[str, Any]) -> bytes:
    """Serialize a dict of features as a `tf.train.Example`, with names in sorted order.

    A value is a number, text, or an array or list of either. Whole numbers and booleans become an int64 list, numbers a
    float list (`float32`: doubles are rounded), `bytes` and `str` (as UTF-8) a bytes list. For an array, its dtype
    decides. An empty list has no kind, and reads as a missing feature.

    >>> encode_example({"x": [1, 300]}).hex()
    '0a0e0a0c0a01781207...'
    """
    return _part(0x0A, _map(features, _feature, "encode_example", "features"))


def encode_sequence_example(
    context: Mapping[str, Any] | None = None, sequences: Mapping[str, Iterable[Any]] | None = None
) -> bytes:
    """Serialize a `tf.train.SequenceExample`: context features, and lists of one feature for each step.

    >>> encode_sequence_example({"user": "a"}, {"seen": [[1, 2], []]}) == encode_sequence_example(
    ...     {"user": b"a"}, {"seen": [np.array([1, 2]), []]}
    ... )
    True
    """
    call = "encode_sequence_example"
    parts: list[bytes] = []
    if context is not None:
        parts.append(_part(0x0A, _map(context, _feature, call, "context")))
    if sequences is not None:
        parts.append(_part(0x12, _map(sequences, _feature_list, call, "sequences")))
    return b"".join(parts)


def _part(tag: int, entries: bytes) -> bytes:
    return _field(tag, entries) if entries else b""


def _map(values: Mapping[str, Any], encode: Any, call: str, argument: str) -> bytes:
    if not isinstance(values, Mapping):
        raise TypeError(f"{call}({argument}=): expected a dict of features by name, not {type(values).__name__}")
    entries: list[bytes] = []
    for name in sorted(values):
        key = name.encode()
        entries.append(
            _field(0x0A, _field(0x0A, key) + _field(0x12, encode(values[name], f'{call}: feature "{name}"')))
        )
    return b"".join(entries)


def _feature_list(steps: Iterable[Any], where: str) -> bytes:
    if isinstance(steps, str | bytes) or not isinstance(steps, Iterable):
        raise TypeError(f"{where}: expected a list of steps, not {type(steps).__name__}")
    return b"".join(_field(0x0A, _feature(step, f"{where}, step {i}")) for i, step in enumerate(steps))


def _feature(value: Any, where: str) -> bytes:
    if isinstance(value, bytes | str | bytearray | memoryview):
        return _texts([value], where)
    if isinstance(value, list | tuple) and value and all(isinstance(item, bytes | str) for item in value):
        return _texts(value, where)
    if is_masked(value):
        refuse_masked(value, f"{where}: a masked array")
    try:
        array: np.ndarray[Any, Any] = np.asarray(value)
    except (ValueError, OverflowError) as error:
        raise ElementError(f"{where}: {value!r:.60} is not an array: {error}") from None
    if not array.size and not isinstance(value, np.ndarray):
        return b""
    kind = array.dtype.kind
    if kind == "O" or (kind == "f" and isinstance(value, list | tuple) and type(value[0]) is int):
        _refuse_large(np.asarray(value, object).reshape(-1).tolist(), where)
    if kind in "OSU":
        return _texts(np.asarray(value, object).reshape(-1).tolist(), where)
    if kind in "biu":
        return _integers(array.reshape(-1), where)
    if kind == "f":
        return _field(_FLOAT, _packed(np.ascontiguousarray(array.reshape(-1), "<f4").tobytes()))
    raise ElementError(f"{where}: a record holds integers, floats, strings and bytes, not {array.dtype}")


def _refuse_large(values: list[Any], where: str) -> None:
    """Refuse whole numbers beyond int64, of which NumPy makes objects or, among negative ones, doubles."""
    large = next((value for value in values if type(value) is int and not -(1 << 63) <= value < 1 << 63), None)
    if large is not None and all(type(value) is int for value in values):
        told = str(large) if large.bit_length() <= 128 else f"a whole number of {large.bit_length():,} bits"
        raise ElementError(f"{where}: {told} does not fit int64")


def _texts(values: Iterable[Any], where: str) -> bytes:
    items: list[bytes] = []
    for value in values:
        if not isinstance(value, bytes | str | bytearray | memoryview):
            kind = type(value).__name__
            raise ElementError(f"{where}: expected numbers, strings or bytes of one kind, not {kind}: {value!r:.60}")
        items.append(_field(0x0A, value.encode() if isinstance(value, str) else bytes(value)))
    return _field(_BYTES, b"".join(items))


def _integers(array: np.ndarray[Any, Any], where: str) -> bytes:
    if array.dtype == np.uint64 and array.size and int(array.max()) >= 1 << 63:
        raise ElementError(f"{where}: {int(array.max())} does not fit int64")
    packed = b"".join(map(_varint, array.astype(np.int64).tolist()))
    return _field(_INT64, _packed(packed))


def _packed(content: bytes) -> bytes:
    return _field(0x0A, content) if content else b""


def _field(tag: int, content: bytes) -> bytes:
    """Return a field with this content, and a number below 16, so that its tag is one byte."""
    return bytes((tag,)) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return bytes((value,))
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
