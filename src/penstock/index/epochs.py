"""Epochs of global rows: which one an array of rows lies in, and where counting would overflow."""

from __future__ import annotations

from penstock.core.arrays import Rows

_LAST_ROW = (1 << 63) - 1


def one_epoch(rows: Rows, length: int) -> int | None:
    """Return the epoch that all rows lie in, or `None` if there are several; `rows` must not be empty.

    Nearly every task lies in one epoch, and then arithmetic needs no division per row.
    """
    if length < 1:
        raise ValueError(f"row {rows[0]} of a dataset of length {length}")
    first = int(rows[0]) // length
    start = first * length
    if int(rows.min()) >= start and int(rows.max()) - start < length:
        return first
    return None


def check_last(epoch: int, stride: int) -> None:
    """Raise an `OverflowError` if the rows of this epoch cannot be counted in an int64."""
    if (epoch + 1) * stride - 1 > _LAST_ROW:
        raise OverflowError(
            f"epoch {epoch} of an input with {stride} rows to an epoch is beyond the last row that can be counted (2**63 - 1); "
            f"a dataset that repeats so often needs a shorter input"
        )
