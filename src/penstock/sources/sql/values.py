"""Convert the Python values of a database to columns."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock.core.errors import DataError, PlanError
from penstock.elements.spec import ArraySpec, LeafSpec, ObjectSpec
from penstock.sources.blocked import DecodedColumn
from penstock.sources.chunked.arrays import ObjectTexts

_NUMBERS: dict[type, str] = {
    bool: "?",
    int: "i8",
    float: "f8",
    decimal.Decimal: "f8",
    dt.datetime: "M8[us]",
    dt.date: "M8[D]",
}
_TEXTS: dict[type, type] = {str: str, bytes: bytes, bytearray: bytes, memoryview: bytes}


def spec_of_values(values: Sequence[Any], place: str) -> LeafSpec:
    """Return the spec of a column's values; whole numbers among floats become floats.

    >>> spec_of_values([1, None, 2.5], "x"), spec_of_values([None, "a"], "x")
    (float64, str)
    """
    types = {type(value) for value in values if value is not None}
    if not types:
        return ObjectSpec(str) if not values else _refused(place, "has only NULL in its first rows")
    if types <= _TEXTS.keys():
        found = {_TEXTS[of] for of in types}
        return ObjectSpec(found.pop()) if len(found) == 1 else _refused(place, "has text and bytes")
    if types <= _NUMBERS.keys():
        kinds = {_NUMBERS[of] for of in types}
        kinds = {"f8"} if kinds == {"i8", "f8"} else kinds
        if len(kinds) == 1:
            return ArraySpec((), np.dtype(kinds.pop()))
    return _refused(place, f"has values of type {', '.join(sorted(of.__name__ for of in types))}")


def _refused(place: str, reason: str) -> LeafSpec:
    raise PlanError(f"{place} {reason}; CAST it in a query, or choose columns= without it")


def values_of(
    values: Sequence[Any], spec: LeafSpec, fill: Mapping[str, Any], place: str, name: str, first: int
) -> DecodedColumn:
    """Return the values of a column; `first` is the number of their first row."""
    if None in values:
        if name not in fill:
            raise DataError(
                f"{place} is NULL in row {first + values.index(None):,}; pass nulls={{{name!r}: a value}}, or leave "
                "such rows out in a query"
            )
        values = [fill[name] if value is None else value for value in values]
    if not isinstance(spec, ArraySpec):
        wanted = spec.type if isinstance(spec, ObjectSpec) else object
        for at, value in enumerate(values):
            if _TEXTS.get(type(value)) is not wanted:
                raise _other(place, first + at, value, wanted.__name__)
        return ObjectTexts([bytes(value) for value in values] if wanted is bytes else list(values))
    odd = next((at for at, value in enumerate(values) if not _fits(value, spec)), None)
    if odd is not None:
        raise _other(place, first + odd, values[odd], str(spec.dtype))
    try:
        return np.array([_utc(value) for value in values] if spec.dtype.kind == "M" else values, spec.dtype)
    except OverflowError:
        at = next(i for i, value in enumerate(values) if not -(1 << 63) <= value < 1 << 63)
        raise _other(place, first + at, values[at], str(spec.dtype)) from None


def _fits(value: Any, spec: ArraySpec) -> bool:
    code = _NUMBERS.get(type(value))
    return code is not None and (np.dtype(code) == spec.dtype or (spec.dtype.kind == "f" and code == "i8"))


def _utc(value: Any) -> Any:
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return value.astimezone(dt.UTC).replace(tzinfo=None)
    return value


def _other(place: str, row: int, value: Any, wanted: str) -> DataError:
    return DataError(
        f"{place} has {value!r:.60} ({type(value).__name__}) in row {row:,}, and its first rows are {wanted}; "
        "CAST it in a query"
    )
