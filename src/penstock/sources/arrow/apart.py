"""Make rows together or, if one of them fails, one by one, so that only that row is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.core.lazy import require
from penstock.sources.arrow.tables import Table, errors_at
from penstock.sources.arrow.values import wrong_code
from penstock.sources.blocked import DecodedColumn

T = TypeVar("T")


def made_apart(rows: Rows, make: Callable[[Rows], T]) -> T:
    """Return `make(rows)`, or raise the error of the first row that fails, with its index in `rows` as `element`.

    >>> made_apart(np.array([5, 7, 3]), lambda rows: rows.tolist())
    [5, 7, 3]
    """
    try:
        return make(rows)
    except DataError as failure:
        error = failure
    first, count = 0, len(rows)
    while count > 1:  # the first failing row is among `count` from `first` on
        half = count // 2
        wrong = _wrong(rows[first : first + half], make)
        first, count = (first, half) if wrong else (first + half, count - half)
    error = _wrong(rows[first : first + 1], make) or error
    error.element = first
    raise error


def _wrong(rows: Rows, make: Callable[[Rows], Any]) -> DataError | None:
    try:
        make(rows)
    except DataError as error:
        return error
    return None


class TableApart:
    """The rows of an Arrow table with some nulls or invalid text: each row is made on request."""

    def __init__(self, found: Any, table: Table, place: str, numbers: Rows) -> None:
        """Keep the table; `numbers`, shape `(k,)`, has the number of each row in its file."""
        arrow = require("pyarrow", extra="arrow", purpose=place)
        with errors_at(place):
            for at, field in enumerate(found.schema):
                coded = arrow.types.is_dictionary(field.type)  # a bad dictionary entry would fail all rows
                if coded and not any(map(wrong_code, found.column(at).chunks)):
                    found = found.set_column(at, field.name, found.column(at).cast(field.type.value_type))
        self._found = found
        self._table = table
        self._place = place
        self._numbers = numbers
        self.nbytes = int(found.nbytes)

    def columns(self, rows: Rows) -> list[DecodedColumn]:
        """Return the columns of some rows; the error of the first invalid row has its place as `element`."""
        return made_apart(rows, self._made)

    def _made(self, rows: Rows) -> list[DecodedColumn]:
        with errors_at(self._place, int(self._numbers[rows[0]])):
            indices = require("pyarrow", extra="arrow", purpose=self._place).array(rows)
            return self._table.columns(self._found.take(indices))


def columns_or_apart(found: Any, table: Table, place: str, numbers: Rows) -> list[DecodedColumn] | TableApart:
    """Return the columns of an Arrow table, or a `TableApart` if some of its rows are invalid."""
    try:
        with errors_at(place):
            return table.columns(found)
    except DataError:
        return TableApart(found, table, place, np.asarray(numbers, np.int64))
