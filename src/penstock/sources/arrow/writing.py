"""Write rows into Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from typing import Any, cast

import numpy as np

from penstock.core.errors import ElementError
from penstock.core.lazy import require
from penstock.elements.leaves.masked import refuse_masked
from penstock.elements.ragged import Ragged
from penstock.elements.size import bytes_of
from penstock.elements.sparse import Sparse
from penstock.storage.compressing import Writer
from penstock.storage.shards import Shards

_GROUP_ROWS = 10_000
_GROUP_BYTES = 1 << 26

Row = dict[str, Any]


class _File:
    """A sink that pyarrow writes a file into and does not close."""

    closed = False

    def __init__(self, writer: Writer) -> None:
        self.write = writer.write
        self.tell = writer.tell

    def flush(self) -> None:
        """Do nothing: no bytes are buffered."""

    def close(self) -> None:
        """Do nothing: the opener of the file closes it."""


def write_parquet_files(
    elements: Iterable[Any],
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None,
    overwrite: bool,
    compression: str | None,
    call: str = "write_parquet",
) -> list[str]:
    """Write `elements`, which are dicts, and return the paths of the files; see `Dataset.write_parquet`.

    Errors name the `call`.
    """
    arrow: Any = require("pyarrow", extra="arrow", purpose="writing Parquet")
    parquet: Any = require("pyarrow.parquet", extra="arrow", purpose="writing Parquet")
    schema: Any = None
    with Shards(path, max_bytes=max_bytes, overwrite=overwrite) as shards, ExitStack() as opened:
        writer: Writer | None = None
        file: Any = None
        most = _GROUP_BYTES if max_bytes is None else min(max_bytes, _GROUP_BYTES)
        for first, rows in _groups(elements, most, call):
            table = _table(arrow, rows, f"{call}: {{}} of elements {first} to {first + len(rows) - 1}", schema)
            schema = table.schema
            if writer is None or (max_bytes is not None and writer.tell() >= max_bytes):
                opened.close()
                writer, _ = shards.open()
                how = compression or "none"
                file = opened.enter_context(parquet.ParquetWriter(_File(writer), schema, compression=how))
            file.write_table(table)
        if writer is None:  # without rows, write an empty file
            opened.enter_context(parquet.ParquetWriter(_File(shards.open()[0]), arrow.schema([])))
    return shards.names


def write_arrow_file(elements: Iterable[Any], path: str, *, overwrite: bool, call: str) -> None:
    """Write `elements`, which are dicts, into a new Arrow file (IPC), in the columns of `write_parquet_files`."""
    arrow: Any = require("pyarrow", extra="arrow", purpose="writing Arrow files")
    with Shards(path, max_bytes=None, overwrite=overwrite) as shards, ExitStack() as opened:
        sink, _ = shards.open()
        schema: Any = None
        file: Any = None
        for first, rows in _groups(elements, _GROUP_BYTES, call):
            table = _table(arrow, rows, f"{call}: {{}} of elements {first} to {first + len(rows) - 1}", schema)
            if file is None:
                schema = table.schema
                file = opened.enter_context(arrow.ipc.new_file(_File(sink), schema))
            file.write_table(table)
        if file is None:
            opened.enter_context(arrow.ipc.new_file(_File(sink), arrow.schema([])))


def _groups(elements: Iterable[Any], most_bytes: int, call: str) -> Iterator[tuple[int, list[Row]]]:
    """Yield the rows of one row group after another, with the number of the first row."""
    rows: list[Row] = []
    first = held = 0
    for number, element in enumerate(elements):
        if not isinstance(element, dict):
            raise ElementError(
                f"{call}: element {number} is {type(element).__name__}, not a dict of columns; map it to a dict first"
            )
        rows.append(cast("Row", _plain(element, f"{call}: element {number}")))
        held += bytes_of(element)
        if len(rows) >= _GROUP_ROWS or held >= most_bytes:
            yield first, rows
            rows, first, held = [], number + 1, 0
    if rows:
        yield first, rows


def _plain(value: Any, where: str) -> Any:
    """Return the value in a form that pyarrow takes: an array of several dimensions becomes a list of its rows."""
    if isinstance(value, dict):
        parts = cast("dict[Any, Any]", value)
        if not parts or not all(isinstance(name, str) for name in parts):
            raise ElementError(f"{where}: names of columns must be strings; found {list(parts)!r:.80}")
        return {name: _plain(part, where) for name, part in parts.items()}
    if isinstance(value, Sparse):
        raise ElementError(f"{where} has a Sparse, which no column can hold; map it to an array first")
    if isinstance(value, Ragged):
        return [_plain(row, where) for row in value]
    if isinstance(value, np.ndarray):
        refuse_masked(value, f"{where}: a masked array")
        array = cast("np.ndarray", value)
        if array.ndim == 1:
            return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
        return [_plain(row, where) for row in array] if array.ndim else array[()]
    return value


def _table(arrow: Any, rows: list[Row], where: str, schema: Any) -> Any:
    """Return the rows as a table, with the columns of `schema` if known; errors are about columns (`{}`) `where`."""
    struct = _column(arrow, rows, "", where, None if schema is None else arrow.struct(schema))
    return arrow.Table.from_arrays(struct.flatten(), names=[field.name for field in struct.type])


def _column(arrow: Any, values: list[Any], name: str, where: str, kind: Any) -> Any:
    """Return values as an array of their type, which must be `kind` if given; dicts become a struct."""
    is_struct = isinstance(values[0], dict) if kind is None else arrow.types.is_struct(kind)
    try:
        if not is_struct:
            found = arrow.array(_joined(values))
            if kind is None or found.type == kind:
                return found
            if "null" not in str(found.type):  # arrow would convert 1.5 to 1
                raise ValueError(f"found {found.type}")
            return found.cast(kind)
        names = list(values[0]) if kind is None else [field.name for field in kind]
        kinds = dict.fromkeys(names) if kind is None else {field.name: field.type for field in kind}
        for value in values:
            if set(value) != set(names):
                raise ElementError(f"{where.format('the columns')} differ: {list(value)} against {names}")
        parts = [_column(arrow, [value[part] for value in values], part, where, kinds[part]) for part in names]
        return arrow.StructArray.from_arrays(parts, names=names)
    except (arrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ElementError):
            raise
        problem = f"is not all {'one type' if kind is None else f'{kind}, as before'}"
        if isinstance(error, arrow.ArrowNotImplementedError | UnicodeError):
            problem = "has values that Arrow cannot hold"
        raise ElementError(f"{where.format(f'column {name!r}')} {problem}: {error}") from None


def _joined(values: list[Any]) -> list[Any] | np.ndarray:
    """Return NumPy scalars of one dtype as an array, which keeps the dtype; return other values unchanged."""
    dtypes = {value.dtype for value in values if isinstance(value, np.generic) and value.dtype.kind not in "SU"}
    alike = len(dtypes) == 1 and all(isinstance(value, np.generic) for value in values)
    return np.array(values) if alike else values
