"""Parquet files, read a row group at a time through pyarrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.kernels.footers import consistent_chunks
from penstock.sources.arrow.apart import TableApart, columns_or_apart
from penstock.sources.arrow.tables import (
    Nulls,
    Table,
    TableFiles,
    check_same,
    errors_at,
    relative,
    side_by_side,
    table_of,
)
from penstock.sources.blocked import BlockedSource, DecodedColumn
from penstock.storage.file_kinds import told_of_kind
from penstock.storage.local import Extent, file_size, read_extent
from penstock.storage.recent import Recent
from penstock.storage.remote.fetcher import fetcher
from penstock.storage.remote.file import RemoteFile, are_remote
from penstock.storage.remote.opened import RemoteReader
from penstock.storage.state import states_of

_FOOTERS = 64 << 20  # bytes of cached file footers
_SAMPLED = 1024  # rows read to estimate the size of text and lists
_FAR = 1 << 61  # bytes: beyond the end of any file
_MOST_ROWS = 1 << 40  # of a row group
_TAIL = 8  # bytes after the footer: its length, and "PAR1"
_FEW_DIFFERENT = 8  # minimum repetitions of each text among them to read the column as a dictionary


class RowGroup(NamedTuple):
    """One row group with rows to read."""

    file: int
    group: int
    kept: NDArray[np.int64] | None
    """The rows that are read, sorted; `None` for all."""


@frozen()
class Footer:
    """The metadata of a file's row groups."""

    metadata: Any
    consistent: NDArray[np.bool_]
    """The column chunks that agree with the schema, `bool[groups, columns]`.

    A request for the place or the statistics of any other chunk ends the process in pyarrow (up to version 26, the
    latest tried): its Python part does not catch the C++ exception. Reading such a chunk raises an error.
    """

    @property
    def nbytes(self) -> int:
        return self.metadata.serialized_size


class RowGroupSample(NamedTuple):
    """An estimate from some rows of text and list columns: bytes for each row, and columns with few distinct values."""

    row_bytes: float
    coded: tuple[str, ...]


@frozen(eq=False)
class ParquetFiles(TableFiles[RowGroup]):
    """The rows of Parquet files that `filters` and `nulls` keep, in the order of the files."""

    format = "parquet"

    filters: str
    sample: RowGroupSample
    footers: Recent[Footer] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "footers", Recent(lambda file: footer(self.paths[file]), _FOOTERS))

    @property
    def block_bytes(self) -> int:
        return int(self.sample.row_bytes * int(self.bounds[-1]) / max(len(self.blocks), 1))

    def decode(self, block: int) -> list[DecodedColumn] | TableApart:
        found = self.blocks[block]
        path = self.paths[found.file]
        self.states[found.file].check(path)
        ((_, kept),) = self.footers.each([found.file])
        place = f"{path}, row group {found.group}"
        with errors_at(place):
            source = self._source(block)
            table = read_group(source, kept.metadata, found.group, self.table.schema.names, self.sample.coded)
            if found.kept is not None:
                table = table.take(require("pyarrow", extra="arrow", purpose="").array(found.kept))
        self.states[found.file].check(path)
        rows = np.arange(table.num_rows) if found.kept is None else found.kept
        return columns_or_apart(table, self.table, place, rows + _first(kept.metadata, found.group))

    def _source(self, block: int) -> Any:
        """Return the file of a block; of a remote file, with the bytes of the block, which are read together."""
        path = self.paths[self.blocks[block].file]
        if not isinstance(path, RemoteFile):
            return path
        extents = self.extents(block)
        contents = fetcher().read(extents)
        return RemoteReader(path, [(extent[1], content) for extent, content in zip(extents, contents, strict=True)])

    def extents(self, block: int) -> list[Extent]:
        """Return the extents of the columns of a row group."""
        found = self.blocks[block]
        ((_, kept),) = self.footers.each([found.file])
        leaves = self._leaves.get(found.file)
        if leaves is None:
            leaves = self._leaves.setdefault(found.file, _leaves_of(kept.metadata, self.table.schema.names))
        group, path = kept.metadata.row_group(found.group), self.paths[found.file]
        return [(path, *_lies(group.column(leaf))) for leaf in leaves if kept.consistent[found.group, leaf]]

    @cached_property
    def _leaves(self) -> dict[int, list[int]]:
        return {}

    def describe(self, block: int, row: int) -> str:
        found = self.blocks[block]
        ((_, kept),) = self.footers.each([found.file])
        return f"{self.paths[found.file]}, row {_first(kept.metadata, found.group) + self.row_of(block, row):,}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the files' names and sizes, the columns, and which rows of which row groups are read."""
        sizes = [state.size for state in self.states]
        return ("parquet", relative(self.paths), sizes, *self.table.described(), self.filters, self.bounds.tolist())


def parquet_files(
    paths: list[str], columns: Sequence[str] | None, filters: Any, nulls: Nulls, cache_bytes: int
) -> BlockedSource:
    """Return the source of `ps.read_parquet`."""
    call = "read_parquet"
    require("pyarrow.parquet", extra="arrow", purpose=call)
    states = states_of(paths)
    footers = side_by_side(lambda i: footer(paths[i]), len(paths))
    schemas = [_schema(path, kept) for path, kept in zip(paths, footers, strict=True)]
    with errors_at(paths[0]):
        table = table_of(schemas[0], columns, nulls, f"{call}: {paths[0]}")
    wanted = _expression(filters, schemas[0])
    for path, schema in zip(paths[1:], schemas[1:], strict=True):
        check_same(call, paths[0], table, path, schema, columns)
    groups = [
        RowGroup(file, group, None)
        for file, kept in enumerate(footers)
        for group in range(kept.metadata.num_row_groups)
        if kept.metadata.row_group(group).num_rows
    ]
    if wanted is not None or table.drops:
        groups = _matching(paths, footers, groups, table, wanted)
    counts = [
        footers[file].metadata.row_group(group).num_rows if kept is None else len(kept) for file, group, kept in groups
    ]
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    sample = RowGroupSample(0, ())
    if groups:
        file, group, _ = groups[0]
        sample = _sampled(paths[file], footers[file], group, table)
    text = "" if wanted is None else str(wanted)
    store = ParquetFiles(paths, states, table, groups, bounds, text, sample)
    if are_remote(paths):
        for file, kept in enumerate(footers):
            store.footers.keep(file, kept)  # reading one again takes two requests, one after the other
    return BlockedSource(store, cache_bytes)


def footer(path: str) -> Footer:
    """Return the metadata of a file's row groups; raise a `DataError` if the file is not Parquet."""
    parquet = require("pyarrow.parquet", extra="arrow", purpose="read_parquet")
    with told_of_kind(path, "parquet"), errors_at(f"{path} cannot be read as Parquet"):
        metadata = parquet.read_metadata(_opened(path))
        for group in range(metadata.num_row_groups):
            rows = metadata.row_group(group).num_rows
            if not 0 <= rows < _MOST_ROWS:
                raise DataError(f"the footer gives row group {group} {rows:,} rows: the file is damaged")
        return Footer(metadata, _consistent(path, metadata))


def _consistent(path: str, metadata: Any) -> NDArray[np.bool_]:
    """Return the column chunks that agree with the schema; none if the footer cannot be followed."""
    shape = metadata.num_row_groups, metadata.num_columns
    end = file_size(path) - _TAIL
    found = consistent_chunks(read_extent(path, end - metadata.serialized_size, end))
    return found.reshape(shape) if found.size == shape[0] * shape[1] else np.zeros(shape, np.bool_)


def read_group(file: Any, metadata: Any, group: int, columns: Sequence[str], coded: Sequence[str] = ()) -> Any:
    """Return one row group as a `pyarrow.Table`; checksums of pages, if any, are verified."""
    parquet = require("pyarrow.parquet", extra="arrow", purpose="read_parquet")
    joins = not (isinstance(file, RemoteReader) and file.holds)  # ranges that span what is held would be fetched again
    with parquet.ParquetFile(
        file, metadata=metadata, read_dictionary=list(coded), page_checksum_verification=True, pre_buffer=joins
    ) as opened:
        table = opened.read_row_group(group, columns=list(columns), use_threads=False)
    expected = metadata.row_group(group).num_rows
    if table.num_rows != expected:
        raise DataError(f"{table.num_rows:,} rows found, {expected:,} expected by the footer")
    return table


def _opened(path: str) -> Any:
    """Return a file as pyarrow opens it: a path, or a file object of a remote one."""
    return RemoteReader(path) if isinstance(path, RemoteFile) else path


def _schema(path: str, kept: Footer) -> Any:
    with errors_at(f"{path} cannot be read as Parquet"):
        return kept.metadata.schema.to_arrow_schema()


def _first(metadata: Any, group: int) -> int:
    """Return the number in the file of the first row of a row group."""
    return sum(metadata.row_group(i).num_rows for i in range(group))


def _leaves_of(metadata: Any, names: Sequence[str]) -> list[int]:
    """Return the numbers of the leaf columns below the columns of these names."""
    paths = [metadata.schema.column(leaf).path for leaf in range(metadata.num_columns)]
    begins = tuple(f"{name}." for name in names)
    return [leaf for leaf, path in enumerate(paths) if f"{path}.".startswith(begins)]


def _lies(column: Any) -> tuple[int, int]:
    """Return the begin and end of a column of a row group, by an untrusted footer."""
    begin = min(at for at in (column.dictionary_page_offset, column.data_page_offset) if at is not None)
    begin = min(max(begin, 0), _FAR)
    return begin, begin + min(max(column.total_compressed_size, 0), _FAR)


def _expression(filters: Any, schema: Any) -> Any:
    """Return the filters as an expression that fits the columns, or `None`."""
    if filters is None:
        return None
    arrow = require("pyarrow", extra="arrow", purpose="read_parquet")
    parquet = require("pyarrow.parquet", extra="arrow", purpose="read_parquet")
    try:
        wanted = parquet.filters_to_expression(filters)
        schema.empty_table().filter(wanted)
    except (arrow.ArrowException, TypeError, ValueError, KeyError) as error:
        raise PlanError(
            f"read_parquet(filters={filters!r:.100}): {_first_line(error)}; expected [(column, operator, value), ...], "
            "a list of such lists, one of which must hold, or an expression of pyarrow.compute"
        ) from None
    return wanted


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _matching(
    paths: list[str], footers: list[Footer], groups: list[RowGroup], table: Table, wanted: Any
) -> list[RowGroup]:
    """Return the groups with their matching rows, reading the filtered columns if statistics do not decide."""
    possible = groups
    if wanted is not None:
        ruled_in = _possible(paths, footers, wanted)
        possible = [group for group in groups if group[:2] in ruled_in]

    def match(at: int) -> RowGroup | None:
        file, group, _ = possible[at]
        metadata = footers[file].metadata
        with errors_at(f"{paths[file]}, row group {group}"):
            rows = _rows_of(paths[file], metadata, group, table, wanted)
        if len(rows) == metadata.row_group(group).num_rows:
            return possible[at]
        return RowGroup(file, group, rows) if len(rows) else None

    return [group for group in side_by_side(match, len(possible)) if group is not None]


def _possible(paths: list[str], footers: list[Footer], wanted: Any) -> set[tuple[int, int]]:
    """Return the row groups that the statistics do not rule out; all groups of a file with a damaged footer."""
    dataset = require("pyarrow.dataset", extra="arrow", purpose="read_parquet(filters=)")
    made = dataset.ParquetFileFormat()
    local = require("pyarrow.fs", extra="arrow", purpose="read_parquet(filters=)").LocalFileSystem()
    found: set[tuple[int, int]] = set()
    for file, (path, kept) in enumerate(zip(paths, footers, strict=True)):
        if not kept.consistent.all():
            found.update((file, group) for group in range(kept.metadata.num_row_groups))
            continue
        with errors_at(path):
            if isinstance(path, RemoteFile):
                fragment = made.make_fragment(_opened(path))
            else:
                fragment = made.make_fragment(os.path.abspath(path), filesystem=local)
            found.update((file, group.id) for group in fragment.subset(filter=wanted).row_groups)
    return found


def _rows_of(path: str, metadata: Any, group: int, table: Table, wanted: Any) -> NDArray[np.int64]:
    """Return the rows of a row group that are kept, sorted."""
    arrow = require("pyarrow", extra="arrow", purpose="read_parquet")
    every = metadata.schema.to_arrow_schema().names
    text = str(wanted)
    named = [] if wanted is None else [name for name in every if name in text] or every
    read = read_group(
        _opened(path), metadata, group, list(dict.fromkeys([*named, *(table.schema.names if table.drops else [])]))
    )
    kept = np.arange(read.num_rows)
    if table.drops:
        kept = kept[table.whole_rows(read)]
    if wanted is not None:
        number = "row number" + "'" * max((name.count("'") for name in every), default=0)
        numbered = read.append_column(number, arrow.array(np.arange(read.num_rows)))
        kept = np.intersect1d(kept, numbered.filter(wanted).column(number).to_numpy())
    return kept


def _sampled(path: str, kept: Footer, group: int, table: Table) -> RowGroupSample:
    """Return the estimate from the first rows of a row group."""
    parquet = require("pyarrow.parquet", extra="arrow", purpose="read_parquet")
    names = table.loose()
    if not names:
        return RowGroupSample(table.fixed_bytes(), ())
    with errors_at(f"{path}, row group {group}"), parquet.ParquetFile(_opened(path), metadata=kept.metadata) as file:
        rows = next(file.iter_batches(_SAMPLED, row_groups=[group], columns=names, use_threads=False), None)
        if rows is None or not rows.num_rows:
            return RowGroupSample(table.fixed_bytes(), ())
        texts = [leaf.path for leaf in table.layout.leaves if leaf.dtype is None and not leaf.steps]
        few = rows.num_rows // _FEW_DIFFERENT
        coded = tuple(name for name in texts if len(rows.column(name).unique()) <= few)
        return RowGroupSample(table.fixed_bytes() + rows.nbytes / rows.num_rows, coded)
