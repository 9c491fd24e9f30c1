"""Rows that are made together, or where one of them cannot be made, apart: so that only that one is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.core.lazy import require
from penstock.sources.arrow.tables import Table, told
from penstock.sources.arrow.values import wrong_code
from penstock.sources.blocked import Held

T = TypeVar("T")


def made_apart(rows: Rows, make: Callable[[Rows], T]) -> T:
    """Return `make(rows)`, or raise what is wrong with the first row that cannot be made, with its place as `element`.

    >>> made_apart(np.array([5, 7, 3]), lambda rows: rows.tolist())
    [5, 7, 3]
    """
    try:
        return make(rows)
    except DataError as failure:
        error = failure
    first, count = 0, len(rows)
    while count > 1:  # the first at fault is one of `count` from `first` on
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
    """The rows of an Arrow table of which some are nulls or no text: each is made when it is asked for."""

    def __init__(self, found: Any, table: Table, place: str, numbers: Rows) -> None:
        """`numbers`, shape `(k,)`, says which row of its file each row is."""
        arrow = require("pyarrow", extra="arrow", purpose=place)
        with told(place):
            for at, field in enumerate(found.schema):
                coded = arrow.types.is_dictionary(field.type)  # a bad entry would be one of all rows
                if coded and not any(map(wrong_code, found.column(at).chunks)):
                    found = found.set_column(at, field.name, found.column(at).cast(field.type.value_type))
        self._found = found
        self._table = table
        self._place = place
        self._numbers = numbers
        self.nbytes = int(found.nbytes)

    def columns(self, rows: Rows) -> list[Held]:
        """Return the columns of some rows; what is wrong with the first that is none has its place as `element`."""
        return made_apart(rows, self._made)

    def _made(self, rows: Rows) -> list[Held]:
        with told(self._place, int(self._numbers[rows[0]])):
            indices = require("pyarrow", extra="arrow", purpose=self._place).array(rows)
            return self._table.columns(self._found.take(indices))


def columns_or_apart(found: Any, table: Table, place: str, numbers: Rows) -> list[Held] | TableApart:
    """Return the columns of an Arrow table, or where some of its rows cannot be made, its rows apart."""
    try:
        with told(place):
            return table.columns(found)
    except DataError:
        return TableApart(found, table, place, np.asarray(numbers, np.int64))
