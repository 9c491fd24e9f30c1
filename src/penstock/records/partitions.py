"""Partition the values of a feature into rows, by other features of the same record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.elements.leaves.offsets import begins, spread
from penstock.elements.ragged import Ragged
from penstock.records import features as kinds
from penstock.records.faults import refuse
from penstock.records.features import FeaturePartition, Partition

MOST_PARTITION_ROWS = 1 << 20
"""The largest row number of `ValueRowIds`: a damaged record must not demand unlimited memory."""


def partitioned(values: Ragged, partitions: list[tuple[Partition, Ragged | None]], feature: str) -> Ragged:
    """Return the values of k records, `(k, ~)`, in rows, `(k, ~, ..., ~)`; innermost uniform rows are shape.

    Each partition comes with its feature of the same records, `(k, ~)`, from the outermost to the innermost. A
    partition that does not divide the values of its record exactly raises a `DataError`.
    """
    flat, ends = values.flat_values, values.row_splits.astype(np.int64, copy=False)
    levels: list[NDArray[np.int64]] = []
    for partition, said in reversed(partitions):
        counts = np.diff(ends)  # for each record: its values, or its rows so far
        if isinstance(partition, kinds.UniformRowLength):
            uneven = np.flatnonzero(counts % partition.length)
            if len(uneven):
                at = int(uneven[0])
                refuse(f"its {counts[at]} values do not divide into rows of {partition.length}", at, feature)
            ends = ends // partition.length
            if not levels:
                flat = flat.reshape(-1, partition.length, *flat.shape[1:])
                continue
            lengths = np.full(int(ends[-1]), partition.length, np.int64)
        else:
            assert said is not None  # noqa: S101 - nonuniform partitions have a feature
            lengths, ends = _rows(partition, said, counts, feature)
        levels.insert(0, begins(lengths))
    return _nested(flat, [ends, *levels])


def _nested(flat: NDArray[np.generic], levels: list[NDArray[np.int64]]) -> Ragged:
    whole: Ragged | NDArray[np.generic] = flat
    for splits in reversed(levels):
        whole = Ragged(whole, splits)
    assert isinstance(whole, Ragged)  # noqa: S101 - there is at least one level
    return whole


def _rows(
    partition: FeaturePartition, said: Ragged, counts: NDArray[np.int64], feature: str
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the length of each row of all records, and the splits of rows between records."""
    numbers, ends = said.flat_values, said.row_splits.astype(np.int64, copy=False)
    sizes = np.diff(ends)
    record = np.repeat(np.arange(len(sizes)), sizes)  # the record of each number
    wrong = np.zeros(len(sizes), bool)
    # numbers beyond all values are invalid, and made harmless before any computation
    beyond = (numbers < 0) | (
        numbers > (MOST_PARTITION_ROWS if isinstance(partition, kinds.ValueRowIds) else counts[record])
    )
    wrong[record[beyond]] = True
    numbers = np.where(beyond, 0, numbers)
    if isinstance(partition, kinds.RowLengths):
        lengths = numbers
    elif isinstance(partition, kinds.ValueRowIds):
        lengths, ends = _counted(numbers, ends, record, counts, wrong)
    else:
        lengths, ends = _between(partition, numbers, ends, counts, wrong)
    if not wrong.any():
        rows = np.diff(ends)
        wrong[np.repeat(np.arange(len(rows)), rows)[lengths < 0]] = True
        wrong |= np.diff(begins(lengths)[ends]) != counts
    if wrong.any():
        at = int(np.argmax(wrong))
        shown = np.asarray(said[at]).tolist()
        refuse(
            f"its {counts[at]} values are not divided exactly by the {_NAMES[type(partition)]} in "
            f'feature "{partition.key}": {shown!s:.80}',
            at,
            feature,
        )
    return lengths, ends


_NAMES: dict[type[FeaturePartition], str] = {
    kinds.RowSplits: "row splits",
    kinds.RowLengths: "row lengths",
    kinds.RowStarts: "row starts",
    kinds.RowLimits: "row limits",
    kinds.ValueRowIds: "row numbers",
}


def _between(
    partition: FeaturePartition,
    numbers: NDArray[np.int64],
    ends: NDArray[np.int64],
    counts: NDArray[np.int64],
    wrong: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows between ascending numbers: splits have both ends, starts only the first, limits only the last."""
    sizes = np.diff(ends)
    full = sizes > 0
    first, last = numbers[ends[:-1][full]], numbers[ends[1:][full] - 1]
    if not isinstance(partition, kinds.RowLimits):
        wrong[full] |= first != 0
    if not isinstance(partition, kinds.RowStarts):
        wrong[full] |= last != counts[full]
    if isinstance(partition, kinds.RowSplits):
        rows = np.maximum(sizes - 1, 0)
        lows = spread(ends[:-1], rows)
        return numbers[lows + 1] - numbers[lows], begins(rows)
    if isinstance(partition, kinds.RowStarts):
        highs = np.append(numbers[1:], 0)
        highs[ends[1:][full] - 1] = counts[full]
        return highs - numbers, ends
    lows = np.append(0, numbers[:-1]) if len(numbers) else numbers
    lows[ends[:-1][full]] = 0
    return numbers - lows, ends


def _counted(
    ids: NDArray[np.int64],
    ends: NDArray[np.int64],
    record: NDArray[np.int64],
    counts: NDArray[np.int64],
    wrong: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the counts of each record's row numbers, up to the largest."""
    wrong |= np.diff(ends) != counts
    down = np.flatnonzero((np.diff(ids) < 0) & (np.diff(record) == 0))
    wrong[record[down]] = True
    rows = np.zeros(len(counts), np.int64)
    np.maximum.at(rows, record, ids + 1)
    if wrong.any():  # the caller reports the error; invalid numbers are not counted
        return np.zeros(0, np.int64), np.zeros(len(ends), np.int64)
    splits = begins(rows)
    return np.bincount(ids + splits[record], minlength=int(splits[-1])).astype(np.int64), splits
