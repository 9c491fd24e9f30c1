"""The columns of CSV files: names from the first record, and types from the first block with values."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from penstock.core.errors import DataError, PlanError
from penstock.core.lazy import require
from penstock.sources.arrow.tables import errors_at
from penstock.sources.csv.parsing import ENCODING, Form, Records, parse_records, parsed_freely
from penstock.storage.file_kinds import HEAD_SIZE, looks_like

BLOCKS = 64  # the most blocks read for the types of columns that are empty in earlier blocks


class RecordBlock(NamedTuple):
    """Some records of a file, with the names of its columns."""

    path: str
    names: list[str]
    records: Records


def types_in(blocks: Iterable[RecordBlock], known: Collection[str], form: Form) -> dict[str, Any]:
    """Return the type of each column that is not `known`, from the first block in which it has a value.

    Columns that are empty in the first `BLOCKS` have none.
    """
    types: dict[str, Any] = {}
    for at, block in enumerate(islice(blocks, BLOCKS)):
        try:
            found = _types_of(block, form)
        except DataError:
            if at == 0:
                raise
            continue  # reading its rows raises the error
        types = {**{field.name: _as_text(field.type) for field in found if not _is_null(field.type)}, **types}
        if types.keys() | set(known) >= set(block.names):
            break
    return types


def _types_of(block: RecordBlock, form: Form) -> Any:
    """Return the `pyarrow.Schema` of some records, ignoring invalid ones, which fail when read."""
    path, names, records = block
    with errors_at(path, records.row):
        try:
            return parse_records(records, names, {}, form).schema
        except DataError as error:
            try:
                found = parsed_freely(records.content, names, {}, form, lenient=True)
            except ValueError:
                raise error from None
            if not found.num_rows:
                raise
            return found.schema


def _as_text(of: Any) -> Any:
    """Return text for the type of a column with bytes that are not text: reading its rows raises the error."""
    arrow = require("pyarrow", extra="arrow", purpose="read_csv")
    return arrow.string() if arrow.types.is_binary(of) else of


def _is_null(of: Any) -> bool:
    return require("pyarrow", extra="arrow", purpose="read_csv").types.is_null(of)


def schema_of(names: list[str], types: Mapping[str, Any] | None, found: Mapping[str, Any]) -> Any:
    """Return the types of the columns: as given, else as `found`, else text for columns without values."""
    arrow = require("pyarrow", extra="arrow", purpose="read_csv")
    given = {name: _type(name, of) for name, of in (types or {}).items()}
    for name in given:
        if name not in names:
            raise PlanError(f"read_csv: types= has {name!r}, but the columns are {', '.join(map(repr, names[:8]))}")
    return arrow.schema([(name, given.get(name, found.get(name, arrow.string()))) for name in names])


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


def names_in(content: bytes, path: str, form: Form) -> list[str]:
    """Return the names of the columns, from the bytes of a file up to the end of its first record."""
    if not content:
        raise DataError(f"{path}: the record with the names of the columns is missing; pass names=")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if b"\0" in content and (remark := looks_like(content[:HEAD_SIZE])):
        raise DataError(f"{path} is not CSV: {remark}")
    with errors_at(f"{path}: the names of the columns"):
        try:
            names = parsed_freely(content + b"\n", None, {}, form).schema.names
        except UnicodeDecodeError as error:
            raise DataError(f"{error}; {looks_like(content[:HEAD_SIZE]) or ENCODING}") from None
    again = next((name for name in names if names.count(name) > 1), None)
    if again is not None:
        raise PlanError(f"read_csv: {path} has several columns with the name {again!r}; rename them, or pass names=")
    return names


def check_same_names(first: str, names: list[str], path: str, theirs: list[str]) -> None:
    """Raise a `DataError` if two files have different columns, in any order."""
    if sorted(theirs) != sorted(names):
        odd = next(iter(sorted(set(theirs) ^ set(names))), "")
        raise DataError(f"read_csv: {first} and {path} differ: column {odd!r} is only in one of them")
