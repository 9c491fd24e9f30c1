"""The input of parsers: one record, several records or batches of records, in the form for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import ArraySpec, ObjectSpec, RaggedSpec, Spec
from penstock.kernels.example import RecordRuns

_UINT8 = np.dtype(np.uint8)

Counts: TypeAlias = NDArray[np.int64]
"""The number of records in each of several batches; shape `(batches,)`."""


class SerializedRecords(NamedTuple):
    """Records end to end, with the number in each batch if they came in batches."""

    runs: RecordRuns
    counts: Counts | None
    total: int


def is_record(value: Any) -> bool:
    """Return whether the value is one record: `bytes` or another buffer of bytes."""
    if isinstance(value, np.ndarray):
        return value.dtype == _UINT8 and value.ndim == 1
    return isinstance(value, bytes | bytearray | memoryview)


def given_records(values: Any, call: str) -> SerializedRecords:
    """Take records, or batches of records, from a column of a chunk or from one batch (a list, an array, `Ragged`).

    A value that is not a record raises a `TypeError` with its position as `element`.
    """
    if isinstance(values, Ragged) and values.dtype == _UINT8 and values.flat_values.ndim == 1:
        if values.ragged_rank == 1:
            return SerializedRecords([_joined(values)], None, len(values))
        if values.ragged_rank == 2:
            records = values.values
            return SerializedRecords([_joined(records)], np.diff(values.row_splits).astype(np.int64), len(records))
    if isinstance(values, np.ndarray) and values.dtype.hasobject and values.ndim in (1, 2):
        counts = None if values.ndim == 1 else np.full(len(values), values.shape[1], np.int64)
        records = values.reshape(-1).tolist()
        _check(records, call)
        return SerializedRecords(records, counts, len(records))
    if isinstance(values, Ragged | Sparse | np.ndarray) or not isinstance(values, Sequence):
        shown = f"{values.dtype}{list(values.shape)}" if isinstance(values, np.ndarray) else type(values).__name__
        raise TypeError(f"{call} takes records as bytes, or a list or object array of them, not {shown}{_hint(values)}")
    if values and not is_record(values[0]) and _is_batch(values[0]):
        return _batches(values, call)
    _check(values, call)
    return SerializedRecords(list(values), None, len(values))


def records_in_batches(spec: Spec | None) -> tuple[bool, int | None] | None:
    """Return whether elements of this spec are batches, and of how many records; `None` if not records."""
    if isinstance(spec, ObjectSpec) and issubclass(spec.type, bytes | bytearray | memoryview):
        return False, None
    if isinstance(spec, ArraySpec) and len(spec.shape) == 1 and spec.dtype in (_UINT8, np.dtype(object)):
        return (False, None) if spec.dtype == _UINT8 else (True, spec.shape[0])
    if isinstance(spec, RaggedSpec) and spec.dtype == _UINT8 and spec.ragged_rank == 1 and len(spec.shape) == 2:
        return True, spec.shape[0]
    return None


def _joined(records: Ragged) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    return np.ascontiguousarray(records.flat_values), records.row_splits.astype(np.int64, copy=False)


def _is_batch(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.hasobject
    return isinstance(value, Ragged | list | tuple)


def _batches(values: Sequence[Any], call: str) -> SerializedRecords:
    runs: RecordRuns = []
    counts = np.empty(len(values), np.int64)
    for i, batch in enumerate(values):
        try:
            given = given_records(batch, call)
        except TypeError as error:
            error.element = i  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
            raise
        runs += given.runs
        counts[i] = len(batch)
    return SerializedRecords(runs, counts, int(counts.sum()))


def _check(records: Sequence[Any], call: str) -> None:
    types = set(map(type, records))
    if types <= {bytes}:
        return
    for i, record in enumerate(records):
        if not is_record(record):
            error = TypeError(f"{call} takes records as bytes, not {type(record).__name__}: {record!r:.60}")
            error.element = i  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue]
            raise error


def _hint(values: Any) -> str:
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        return ", which drops trailing zeros of records: np.array(records, dtype=object)"
    return '; if records are one part of the elements, use map(..., on="name")' if isinstance(values, dict) else ""
