"""tf.train.Example and SequenceExample, field by field, following the description of the wire format."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

BYTES, FLOAT, INT64 = 1, 2, 3
DAMAGED, WRONG_KIND, WRONG_COUNT, MISSING = 2, 3, 4, 5

WantedFeature: TypeAlias = tuple[
    str, int, int, bool, bool, Any
]  # name, kind, size (-1: any), in_lists, required, default
Fault: TypeAlias = tuple[int, int, int | None, int]  # status, record, slot, found
FoundFeature: TypeAlias = tuple[int, list[Any]]  # kind (0: none), values


class WireError(Exception):
    """Bytes that are not a valid message."""


def parse_examples(slots: Sequence[WantedFeature], records: Sequence[bytes]) -> list[tuple[Any, ...]] | Fault:
    """Return (values, splits, step splits) of each slot, or the first fault: (status, record, slot, found)."""
    values: list[list[Any]] = [[] for _ in slots]
    splits: list[list[int]] = [[0] for _ in slots]
    steps: list[list[int]] = [[0] for _ in slots]
    for r, record in enumerate(records):
        try:
            features, lists = _message(record)
        except WireError:
            return (DAMAGED, r, None, 0)
        for s, (name, kind, size, in_lists, required, default) in enumerate(slots):
            try:
                found = _list_of(lists.get(name), kind) if in_lists else _values_of(features.get(name), kind)
            except WireError:
                return (DAMAGED, r, s, 0)
            if found is None and required:
                return (MISSING, r, s, 0)
            several: list[Any] = list(found or []) if in_lists else [found] if found else []
            if not found and not in_lists and size >= 0:
                several = [(kind, list(default))]
            for of_kind, items in several:
                if of_kind not in (0, kind):
                    return (WRONG_KIND, r, s, of_kind)
                if size >= 0 and len(items) != size:
                    return (WRONG_COUNT, r, s, len(items))
                values[s] += items
                steps[s].append(len(values[s]))
            splits[s].append(len(steps[s]) - 1 if in_lists else len(values[s]))
    return [_columns(slots[s], values[s], splits[s], steps[s]) for s in range(len(slots))]


def places_in_rows(splits: Sequence[int]) -> tuple[list[tuple[int, int]], int]:
    """Return the row and the place in it of each value, and the length of the longest row."""
    lengths = [high - low for low, high in pairwise(splits)]
    return [(row, place) for row, length in enumerate(lengths) for place in range(length)], max(lengths, default=0)


def features_in(record: bytes) -> dict[str, tuple[int, int]] | None:
    """Return the kind and number of values of each feature; `None` if the record is damaged."""
    found: dict[str, tuple[int, int]] = {}
    try:
        for name, parts in _message(record)[0].items():
            message = b"".join(parts)
            kind = _feature(message, 0)[0]
            found[name] = kind, len(_feature(message, kind)[1])
    except WireError:
        return None
    return found


def _columns(slot: WantedFeature, values: list[Any], splits: list[int], steps: list[int]) -> tuple[Any, ...]:
    dtype = {BYTES: object, FLOAT: np.float32, INT64: np.int64}[slot[1]]
    array = np.empty(len(values), dtype)
    array[:] = values
    fixed = slot[2] >= 0 and not slot[3]
    return array, None if fixed else splits, steps if slot[3] else None


def example_features(record: bytes) -> dict[str, FoundFeature]:
    """Return the kind and the values of every feature of a record, or its context; raise a `WireError` if invalid."""
    features, _ = _message(record)
    found: dict[str, FoundFeature] = {}
    for name, parts in features.items():
        message = b"".join(parts)
        kind, _ = _feature(message, 0)
        if kind:
            found[name] = _feature(message, kind)
    return found


def _message(record: bytes) -> tuple[dict[str, list[bytes]], dict[str, list[bytes]]]:
    """Return the values of each name among the features and the lists, in parts that together are one message."""
    maps: tuple[dict[str, list[bytes]], dict[str, list[bytes]]] = ({}, {})
    for number, wire, content in _fields(record):
        if number in (1, 2) and wire == 2:
            for n, w, entry in _fields(content):
                if (n, w) != (1, 2):
                    continue
                inside = [(n, part) for n, w, part in _fields(entry) if w == 2]
                name = ([part for n, part in inside if n == 1] or [b""])[-1]
                parts, of_map = [part for n, part in inside if n == 2], maps[number - 1]
                if number == 2 or any(parts) or name.decode(errors="replace") not in of_map:
                    of_map[name.decode(errors="replace")] = parts
    return maps


def _values_of(parts: list[bytes] | None, wanted: int) -> FoundFeature | None:
    """Return a feature's kind and values; `None` if missing or of no kind."""
    kind, values = _feature(b"".join(parts or []), wanted)
    return (kind, values) if kind else None


def _list_of(parts: list[bytes] | None, wanted: int) -> list[FoundFeature] | None:
    if parts is None:
        return None
    return [_feature(step, wanted) for n, wire, step in _fields(b"".join(parts)) if (n, wire) == (1, 2)]


def _feature(message: bytes, wanted: int) -> FoundFeature:
    """Return the kind that was set last, and its values if that kind is wanted: others are not read."""
    kind, values = 0, list[Any]()
    for number, wire, content in _fields(message):
        if number in (BYTES, FLOAT, INT64) and wire == 2:
            values = [*(values if number == kind else []), *(_values(number, content) if number == wanted else [])]
            kind = number
    return kind, values


def _values(kind: int, message: bytes) -> Iterator[Any]:
    for number, wire, content in _fields(message):
        if number != 1:
            continue
        if kind == BYTES and wire == 2:
            yield content
        elif kind == FLOAT and wire in (2, 5):
            if len(content) % 4:
                raise WireError("a float has four bytes")
            yield from (value for (value,) in struct.iter_unpack("<f", content))
        elif kind == INT64 and wire in (0, 2):
            at = 0
            while at < len(content):
                value, at = _varint(content, at)
                yield value - (value >> 63 << 64)


def _fields(message: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at < len(message):
        number, wire, content, at = _field(message, at, 100)
        yield number, wire, content


def _field(message: bytes, at: int, depth: int) -> tuple[int, int, bytes, int]:
    tag, at = _varint(message, at)
    number, wire = tag >> 3, tag & 7
    if not number or tag >> 32:
        raise WireError("no such tag")
    if wire == 0:
        end = _varint(message, at)[1]
    elif wire in (1, 5):
        end = at + (8 if wire == 1 else 4)
    elif wire == 2:
        size, at = _varint(message, at)
        end = at + size
    elif wire == 3 and depth:
        end = _group(message, at, number, depth - 1)
    else:
        raise WireError("no such type")
    if end > len(message):
        raise WireError("it ends too soon")
    return number, wire, message[at:end], end


def _group(message: bytes, at: int, number: int, depth: int) -> int:
    while True:
        tag, after = _varint(message, at)
        if tag & 7 == 4 and tag >> 32 == 0:
            if tag >> 3 != number:
                raise WireError("another group ends")
            return after
        at = _field(message, at, depth)[3]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = 0
    for i in range(10):
        if at + i >= len(message):
            raise WireError("it ends too soon")
        byte = message[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & (1 << 64) - 1, at + i + 1
    raise WireError("a number has ten bytes at most")
