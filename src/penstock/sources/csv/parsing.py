"""Parse CSV records to rows: through pyarrow, all at once or, if that fails, only the requested ones."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.core.shown import displayable
from penstock.sources.arrow.apart import made_apart
from penstock.sources.arrow.tables import Table, errors_at
from penstock.sources.blocked import DecodedColumn
from penstock.sources.csv.records import Dialect, record_ends
from penstock.sources.stream import Faulty, with_faults
from penstock.storage.file_kinds import HEAD_SIZE, looks_like

T = TypeVar("T")

_UTF8 = ("utf-8", "utf8")
_REMEDY = "remove the index next to the file, and make the dataset again"
ENCODING = "pass the encoding= of the file"
LEAVE_OUT = "or leave such records out with ignore_errors()"
_MOST_FAULTS = 1000  # the most invalid records of a block before the file counts as not CSV of these types


@frozen()
class Form:
    """The form of the files."""

    dialect: Dialect
    encoding: str

    @property
    def told(self) -> tuple[str, str | None, str]:
        """The form in a fingerprint."""
        return self.dialect.delimiter, self.dialect.quote, self.encoding


class Records(NamedTuple):
    """Some whole records: their bytes, number of rows, and the numbers of preceding lines and rows of the file."""

    content: bytes
    rows: int
    line: int
    row: int


@frozen()
class Rowmaker:
    """A maker of rows of the table from records of one file with the columns `names`.

    Invalid records raise a `DataError` with their place.
    """

    path: str
    names: list[str]
    table: Table
    form: Form

    def columns(self, records: Records, kept: Rows | None = None) -> list[DecodedColumn]:
        """Return the columns of all rows, or of those at `kept`."""
        with errors_at(self.path, records.row):
            table = self._parsed(records)
            return self.table.columns(table if kept is None else table.take(kept))

    def kept_columns(self, records: Records) -> tuple[list[DecodedColumn], int]:
        """Return the columns and the number of the kept rows: without incomplete ones if the table drops them."""
        with errors_at(self.path, records.row):
            table = self._parsed(records)
            if self.table.drops:
                table = table.take(np.flatnonzero(self.table.whole_rows(table)))
            return self.table.columns(table), table.num_rows

    def whole_rows(self, records: Records) -> NDArray[np.bool_]:
        """Return a mask of the rows without missing values, `bool[k]`."""
        with errors_at(self.path, records.row):
            return self.table.whole_rows(self._parsed(records))

    @cached_property
    def _types(self) -> dict[str, Any]:
        return {field.name: field.type for field in self.table.schema}

    def _parsed(self, records: Records) -> Any:
        table = parse_records(records, self.names, self._types, self.form)
        if table.num_rows != records.rows:
            raise DataError(f"{records.rows:,} records after line {records.line:,} make {table.num_rows:,} rows")
        return table


class Apart:
    """Records with some invalid ones among them, each parsed separately; only those at `kept`."""

    def __init__(self, records: Records, maker: Rowmaker, kept: Rows | None = None) -> None:
        try:
            ends, lines = _ends_of(records, maker.form.dialect)
        except DataError:
            raise DataError(
                f"{maker.path}: the records after line {records.line:,} end within quotes, so the index does not fit; "
                f"{_REMEDY}"
            ) from None
        if len(ends) - 1 != records.rows:
            raise DataError(
                f"{maker.path}: {len(ends) - 1:,} records found after line {records.line:,}, and {records.rows:,} "
                f"in the index; {_REMEDY}"
            )
        self._records = records
        self._maker = maker
        self._kept = kept
        self._ends = ends.tolist()
        self._lines = lines.tolist()
        self.nbytes = len(records.content) + 128 * len(ends)

    def columns(self, rows: Rows) -> list[DecodedColumn]:
        """Return the columns of some rows; the error of the first invalid row has its place as `element`."""
        return self.made(rows if self._kept is None else self._kept[rows], self._maker.columns)

    def whole_rows(self) -> NDArray[np.bool_]:
        """Return a mask of the complete and the invalid records, `bool[k]`; raise if too many are invalid."""
        found: list[NDArray[np.bool_]] = []
        faults: list[Exception] = []
        for part in self.each(self._maker.whole_rows):
            if isinstance(part, Faulty):
                faults.append(part.error)
                if len(faults) > _MOST_FAULTS:
                    raise faults[0]
            found.append(np.ones(1, np.bool_) if isinstance(part, Faulty) else part)
        return np.concatenate(found)

    def each(self, make: Callable[[Records], T]) -> Iterator[T | Faulty]:
        """Yield the results of `make` for runs of records, and a `Faulty` for each invalid record."""
        return with_faults(self._records.rows, lambda low, high: self.made(np.arange(low, high), make))

    def made(self, rows: Rows, make: Callable[[Records], T]) -> T:
        """Return the result of `make` for the records at `rows`, with errors as in `columns`."""
        return made_apart(rows, lambda some: make(self._picked(some)))

    def _picked(self, rows: Rows) -> Records:
        content, ends = self._records.content, self._ends
        first = int(rows[0])
        if bool((np.diff(rows) == 1).all()):
            part = content[ends[first] : ends[first + len(rows)]]
        else:
            part = b"".join(_ended(content[ends[row] : ends[row + 1]]) for row in rows.tolist())
        return Records(part, len(rows), self._lines[first], self._records.row + first)


def _ended(record: bytes) -> bytes:
    """Return a record with a line end, which the last record of a file may lack."""
    return record if record[-1:] in (b"\n", b"\r") else record + b"\n"


def _ends_of(records: Records, dialect: Dialect) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the begin of each record and the end of the last, `int64[k + 1]`, with the file's lines before each."""
    ends, lines = [np.zeros(1, np.int64)], [np.array([records.line], np.int64)]
    line = records.line
    for found in record_ends(io.BytesIO(records.content), "", dialect, lambda _: None):
        full = np.flatnonzero(found.records & ~found.empty)
        ends.append(found.lines[full])
        lines.append(line + full + 1)
        line += len(found.lines)
    return np.concatenate(ends), np.concatenate(lines)


def parse_records(records: Records, names: list[str], types: Mapping[str, Any], form: Form) -> Any:
    """Return whole records as a `pyarrow.Table` of the columns that have a type; an error names its line."""
    try:
        return parsed_freely(records.content, names, types, form)
    except ValueError as error:
        raise _located(error, records, names, form) from None


def parsed_freely(
    content: bytes, names: list[str] | None, types: Mapping[str, Any], form: Form, *, lenient: bool = False
) -> Any:
    """Return the `pyarrow.Table` of some records: with all columns if there are no `types`.

    If `lenient`, records with another number of fields are left out, and invalid text is replaced.
    """
    arrow = require("pyarrow", extra="arrow", purpose="read_csv")
    csv = require("pyarrow.csv", extra="arrow", purpose="read_csv")
    if lenient or form.encoding not in _UTF8:
        content = content.decode(form.encoding, "replace" if lenient else "strict").encode()
    return csv.read_csv(
        arrow.BufferReader(content),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(content) + 1),
        csv.ParseOptions(
            delimiter=form.dialect.delimiter,
            quote_char=form.dialect.quote or False,
            newlines_in_values=True,
            invalid_row_handler=(lambda _: "skip") if lenient else None,
        ),
        csv.ConvertOptions(column_types=dict(types), include_columns=list(types)),
    )


def _located(error: ValueError, records: Records, names: list[str], form: Form) -> DataError:
    """Return the error of some records with its line of the file."""
    text = str(error).replace("\n", " ")
    row = re.search(r"Row #(\d+)", text)
    number = int(row[1]) if row else records.rows  # known if there is only one record
    at = f", in line {records.line + _line(records.content, number - 1, form):,}" if number == 1 or row else ""
    column = re.match(r"In CSV column #(\d+): ", text)
    name = repr(names[int(column[1])]) if column else ""
    text = re.sub(r"(In CSV column #\d+: |CSV parse error: )?Row #\d+: ", "", text)
    if isinstance(error, UnicodeDecodeError) or "invalid UTF8 data" in text:
        name = name or _column_at_fault(records, names, form)
        as_bytes = f", or types={{{name}: bytes}} for bytes," if name and form.encoding in _UTF8 else ""
        where = f"column {name}" if name else "a column"
        return DataError(
            f"{where} has bytes that are not valid {form.encoding}{at}; {ENCODING}{as_bytes or ','} {LEAVE_OUT}"
        )
    is_conversion = name and re.search(r"conversion error to \S+:", text)
    hint = f"; types were found in the first block: pass types={{{name}: ...}}" if is_conversion else ""
    remark = "" if records.line else looks_like(records.content[:HEAD_SIZE])
    return DataError(f"{displayable(text)[:300]}{at}{hint}{f'; {remark}' if remark else ''}")


def _column_at_fault(records: Records, names: list[str], form: Form) -> str:
    """Return the column of a single record whose bytes are not text, as `repr`; nothing if nobody can tell."""
    if records.rows != 1:
        return ""
    binary = require("pyarrow", extra="arrow", purpose="read_csv").binary()
    with suppress(ValueError):
        fields = parsed_freely(records.content, names, dict.fromkeys(names, binary), replace(form, encoding="utf-8"))
        for name in names:
            try:
                fields[name][0].as_py().decode(form.encoding)
            except UnicodeDecodeError:
                return repr(name)
    return ""


def _line(content: bytes, row: int, form: Form) -> int:
    """Return the line in which a row begins, counted from 1."""
    line = number = 0
    began = 1
    with suppress(DataError):  # records after an unclosed quote begin before it
        for ends in record_ends(io.BytesIO(content), "", form.dialect, lambda _: None):
            for closes, empty in zip(ends.records.tolist(), ends.empty.tolist(), strict=True):
                line += 1
                if closes and not empty:
                    if number == row:
                        return began
                    number += 1
                if closes:
                    began = line + 1
    return began
