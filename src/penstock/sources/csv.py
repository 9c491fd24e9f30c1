"""CSV files, parsed a block at a time through pyarrow, at random by an index of where records begin."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError, PlanError
from penstock.core.lazy import require
from penstock.elements.spec import Spec
from penstock.sources.arrow_tables import Nulls, Table, relative, shown, side_by_side, table_of, told
from penstock.sources.blocked import BlockedSource, Held
from penstock.sources.csv_records import Dialect, index_of, record_ends
from penstock.storage.indexing import Kind, index_files
from penstock.storage.sidecar import Sidecar, Stamp

_UTF8 = ("utf-8", "utf8")


class Stretch(NamedTuple):
    """The bytes of one block of records."""

    file: int
    begin: int
    end: int
    rows: int
    line: int
    """Lines of the file before it."""
    first: int
    """Rows of the file before it."""
    kept: NDArray[np.int64] | None = None


@dataclass(frozen=True)
class Form:
    """How the files are written."""

    dialect: Dialect
    encoding: str


@dataclass(frozen=True, eq=False)
class CsvFiles:
    """The rows of CSV files, in the order of the files; `names` has the columns of each file in its order."""

    paths: list[str]
    stamps: list[Stamp]
    names: list[list[str]]
    form: Form
    table: Table
    stretches: list[Stretch]
    bounds: NDArray[np.int64]

    @property
    def name(self) -> str:
        return f"read_csv({shown(self.paths)})"

    @property
    def spec(self) -> Spec:
        return self.table.layout.spec

    @property
    def block_bytes(self) -> int:
        return self.table.row_bytes * int(self.bounds[-1]) // max(len(self.stretches), 1)

    def decode(self, block: int) -> list[Held]:
        found = self.stretches[block]
        path = self.paths[found.file]
        types = {field.name: field.type for field in self.table.schema}
        with told(path, found.first):
            table = parsed(path, found, self.names[found.file], types, self.form)
            return self.table.columns(table if found.kept is None else table.take(found.kept))

    def check(self, block: int) -> None:
        """Nothing: parsed rows are in memory of their own."""

    def describe(self, block: int, row: int) -> str:
        found = self.stretches[block]
        return f"{self.paths[found.file]}, row {found.first + (row if found.kept is None else int(found.kept[row])):,}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the files' names, sizes and digests, the columns, and how they are written."""
        files = [(stamp.size, stamp.digest) for stamp in self.stamps]
        columns = [f"{leaf.path}: {leaf.spec!r}" for leaf in self.table.layout.leaves]
        fill = sorted((path, repr(value)) for path, value in self.table.fill.items())
        form = (self.form.dialect.delimiter, self.form.dialect.quote, self.form.encoding)
        return ("csv", relative(self.paths), files, columns, fill, form, self.bounds.tolist())


def csv_files(
    paths: list[str],
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
    types: Mapping[str, Any] | None,
    form: Form,
    nulls: Nulls,
    block_bytes: int,
    cache_bytes: int,
) -> BlockedSource:
    """Return the source of `ps.read_csv`."""
    require("pyarrow.csv", extra="arrow", purpose="read_csv")
    dialect = form.dialect
    parameters = (("delimiter", dialect.delimiter), ("quote", dialect.quote), ("block_bytes", block_bytes))

    def scan(path: str, tell: Any) -> Mapping[str, NDArray[Any]]:
        return index_of(path, dialect, block_bytes, tell)

    sidecars = index_files(paths, Kind("csv", scan, parameters))
    headed = names is None
    listed = [
        _header(path, sidecar, form) if names is None else list(names)
        for path, sidecar in zip(paths, sidecars, strict=True)
    ]
    found = [list(_stretches(file, sidecar, headed=headed)) for file, sidecar in enumerate(sidecars)]
    for path, theirs in zip(paths, listed, strict=True):
        check_names(paths[0], listed[0], path, theirs)
    stretches = list(chain(*found))
    schema = _schema(paths, listed, stretches, types, form)
    table = table_of(schema, columns, nulls, f"read_csv: {paths[0]}")
    if table.drops:
        stretches = _whole(paths, listed, stretches, table, form)
    counts = [found.rows if found.kept is None else len(found.kept) for found in stretches]
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    stamps = [sidecar.stamp for sidecar in sidecars]
    return BlockedSource(CsvFiles(paths, stamps, listed, form, table, stretches, bounds), cache_bytes)


def parsed(path: str, found: Stretch, names: list[str], types: Mapping[str, Any], form: Form) -> Any:
    """Return a block as a `pyarrow.Table` of the columns that have a type, or of all where there are no types."""
    with open(path, "rb") as file:
        file.seek(found.begin)
        content = file.read(found.end - found.begin)
    if len(content) != found.end - found.begin:
        raise DataError(f"the file was cut short: bytes {found.begin:,} to {found.end:,} are not all there")
    table = parsed_records(content, found.line, names, types, form)
    if table.num_rows != found.rows:
        raise DataError(
            f"there are {table.num_rows:,} rows in bytes {found.begin:,} to {found.end:,}, and {found.rows:,} in the "
            "index; remove the index beside the file, and make the dataset again"
        )
    return table


def parsed_records(content: bytes, line: int, names: list[str], types: Mapping[str, Any], form: Form) -> Any:
    """Return whole records as a `pyarrow.Table`; an error names its line, with `line` lines of the file before them."""
    try:
        return _table(content, names, types, form)
    except ValueError as error:
        raise _located(error, content, line, types, form) from None


def _table(content: bytes, names: list[str], types: Mapping[str, Any], form: Form) -> Any:
    arrow = require("pyarrow", extra="arrow", purpose="read_csv")
    csv = require("pyarrow.csv", extra="arrow", purpose="read_csv")
    if form.encoding not in _UTF8:
        content = content.decode(form.encoding).encode()
    quote = form.dialect.quote or False
    return csv.read_csv(
        arrow.BufferReader(content),
        csv.ReadOptions(column_names=names, use_threads=False, block_size=len(content) + 1),
        csv.ParseOptions(delimiter=form.dialect.delimiter, quote_char=quote, newlines_in_values=True),
        csv.ConvertOptions(column_types=dict(types), include_columns=list(types)),
    )


def _located(error: ValueError, content: bytes, before: int, types: Mapping[str, Any], form: Form) -> DataError:
    """The error of some records with the line of the file that it is in."""
    text = str(error).replace("\n", " ")
    row = re.search(r"Row #(\d+)", text)
    at = f", in line {before + _line(content, int(row[1]) - 1, form):,}" if row else ""
    text = re.sub(r"(In CSV column #\d+: |CSV parse error: )?Row #\d+: ", "", text)
    wrong = re.search(r"conversion error to (\S+):", text)
    hint = ""
    if wrong:
        chosen = [name for name, of in types.items() if str(of) == wrong[1]]
        hint = f"; types were found in the first block: give types={{{', '.join(map(repr, chosen[:3]))}: ...}}"
    return DataError(f"{text[:300]}{at}{hint}")


def _line(content: bytes, row: int, form: Form) -> int:
    """The line in which a row begins, counted from 1."""
    line = number = 0
    began = 1
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


def _header(path: str, sidecar: Sidecar, form: Form) -> list[str]:
    """The names in the first record of a file."""
    with open(path, "rb") as file:
        return names_in(file.read(int(sidecar.arrays["head"][0])), path, form)


def names_in(content: bytes, path: str, form: Form) -> list[str]:
    """Return the names of the columns, from the bytes of a file up to the end of its first record."""
    if not content:
        raise DataError(f"{path}: there is no record with the names of the columns; give names=")
    content = content.removeprefix(b"\xef\xbb\xbf")
    with told(f"{path}: the names of the columns"):
        arrow = require("pyarrow", extra="arrow", purpose="read_csv")
        csv = require("pyarrow.csv", extra="arrow", purpose="read_csv")
        text = (content if form.encoding in _UTF8 else content.decode(form.encoding).encode()) + b"\n"
        quote = form.dialect.quote or False
        made = csv.read_csv(
            arrow.BufferReader(text),
            csv.ReadOptions(use_threads=False, block_size=len(text) + 1),
            csv.ParseOptions(delimiter=form.dialect.delimiter, quote_char=quote, newlines_in_values=True),
        )
        names = made.schema.names
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise PlanError(f"read_csv: {path} has several columns with the name {again!r}; rename them, or give names=")
    return names


def check_names(first: str, names: list[str], path: str, theirs: list[str]) -> None:
    """Raise a `DataError` if two files have other columns, in whatever order."""
    if sorted(theirs) != sorted(names):
        odd = next(iter(sorted(set(theirs) ^ set(names))), "")
        raise DataError(f"read_csv: {first} and {path} differ: column {odd!r} is only in one of them")


def _stretches(file: int, sidecar: Sidecar, *, headed: bool) -> list[Stretch]:
    arrays = sidecar.arrays
    offsets, rows, lines = (arrays[name].copy() for name in ("offsets", "rows", "lines"))
    if headed and len(offsets) > 1:
        offsets[0], lines[0] = arrays["head"]
        rows[1:] -= 1
    table = np.stack([offsets[:-1], offsets[1:], np.diff(rows), lines[:-1], rows[:-1]], axis=1)
    return [Stretch(file, *block) for block in table[np.diff(rows) > 0].tolist()]


def _schema(
    paths: list[str], names: list[list[str]], stretches: list[Stretch], types: Mapping[str, Any] | None, form: Form
) -> Any:
    first = stretches[0] if stretches else None
    if first is None:
        return schema_of(names[0], types, None)
    with told(paths[first.file], first.first):
        found = parsed(paths[first.file], first, names[first.file], {}, form).schema
    return schema_of(names[0], types, found)


def schema_of(names: list[str], types: Mapping[str, Any] | None, found: Any) -> Any:
    """Return the types of the columns: those given, and others as in `found`, the schema of the first block."""
    arrow = require("pyarrow", extra="arrow", purpose="read_csv")
    given = {name: _type(name, of) for name, of in (types or {}).items()}
    for name in given:
        if name not in names:
            raise PlanError(f"read_csv: types= has {name!r}, and there are {', '.join(map(repr, names[:8]))}")
    inferred = {field.name: field.type for field in found or () if not arrow.types.is_null(field.type)}
    return arrow.schema([(name, given.get(name, inferred.get(name, arrow.string()))) for name in names])


def _type(name: str, of: Any) -> Any:
    arrow = require("pyarrow", extra="arrow", purpose="read_csv")
    if isinstance(of, arrow.DataType):
        return of
    if of in (str, bytes):
        return arrow.string() if of is str else arrow.binary()
    try:
        return arrow.type_for_alias(of) if isinstance(of, str) else arrow.from_numpy_dtype(np.dtype(of))
    except (TypeError, ValueError, arrow.ArrowException):
        raise PlanError(
            f"read_csv(types={{{name!r}: {of!r}}}): expected str, bytes, a NumPy dtype, or a type of pyarrow"
        ) from None


def _whole(
    paths: list[str], names: list[list[str]], stretches: list[Stretch], table: Table, form: Form
) -> list[Stretch]:
    """The blocks that have rows with nothing missing, and which those are."""
    types = {field.name: field.type for field in table.schema}

    def look(at: int) -> Stretch:
        found = stretches[at]
        with told(paths[found.file], found.first):
            kept = np.flatnonzero(table.whole_rows(parsed(paths[found.file], found, names[found.file], types, form)))
        return found if len(kept) == found.rows else found._replace(kept=kept)

    looked = side_by_side(look, len(stretches))
    return [found for found in looked if found.kept is None or len(found.kept)]
