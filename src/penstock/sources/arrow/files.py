"""Arrow's own files (IPC files and streams, Feather), read one record batch at a time, without a copy if possible."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.contexts import contextmanager
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.kernels import MappedFile
from penstock.sources.arrow.apart import TableApart, columns_or_apart
from penstock.sources.arrow.footer import batch_extents
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
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.local import Extent, read_extent
from penstock.storage.remote.file import RemoteFile, are_remote
from penstock.storage.remote.opened import PagedReader
from penstock.storage.soundness import Arrays, are_within, has_form
from penstock.storage.state import mapped_as, states_of

_MAGIC = b"ARROW1"
_ALL = 1 << 62
_MOST_ROWS = 1 << 40  # of a record batch

FileContent: TypeAlias = MappedFile | PagedReader
"""The bytes of a local file, mapped, or the parts of a remote one."""


class RecordBatch(NamedTuple):
    """One record batch with rows."""

    file: int
    batch: int
    position: int
    """The position of its message in a stream; -1 in an IPC file, whose batches are found by number."""
    rows: int
    compressed: bool
    kept: NDArray[np.int64] | None
    """The rows that are read, sorted; `None` for all."""
    begin: int = 0
    end: int = 0
    """The bytes of the batch in the file, as far as known."""


@frozen(eq=False)
class ArrowFiles(TableFiles[RecordBatch]):
    """The rows of Arrow files, in the order of the files, without rows that `nulls="drop"` leaves out."""

    format = "arrow"

    block_bytes: int | None

    def decode(self, block: int) -> list[DecodedColumn] | TableApart:
        found = self.blocks[block]
        path = self.paths[found.file]
        try:
            place = f"{path}, record batch {found.batch}"
            with errors_at(place), self._content(block) as content:
                batch = read_batch(content, found, self._schemas[found.file], self._wanted[found.file])
                table = require("pyarrow", extra="arrow", purpose=self.name).Table.from_batches([batch])
                table = table if found.kept is None else table.take(found.kept)
            numbers = np.arange(found.rows) if found.kept is None else found.kept
            return columns_or_apart(table, self.table, place, numbers)
        finally:
            self.check([block])

    def extents(self, block: int) -> list[Extent]:
        """Return the extents of a record batch; none if few columns are read, since their places are not known."""
        found = self.blocks[block]
        wanted, every = len(self._wanted[found.file]), len(self._schemas[found.file])
        return [(self.paths[found.file], found.begin, found.end)] if 2 * wanted > every else []

    def check(self, blocks: Iterable[int]) -> None:
        for file in {self.blocks[block].file for block in blocks}:
            if not isinstance(self.paths[file], RemoteFile):
                self._mapped(file).check_unchanged()

    @contextmanager
    def _content(self, block: int) -> Generator[FileContent]:
        """Yield the bytes of the file of a block; of a remote one, with those of the block, fetched at once."""
        file = self.blocks[block].file
        path = self.paths[file]
        if not isinstance(path, RemoteFile):
            yield self._mapped(file)
            return
        parts = self._parts.setdefault(file, PagedReader(path)).again()
        with parts.holding(self.extents(block)):
            yield parts

    @cached_property
    def _parts(self) -> dict[int, PagedReader]:
        return {}

    def _mapped(self, file: int) -> MappedFile:
        mapped = self._maps.get(file)
        return mapped or self._maps.setdefault(file, mapped_as(self.paths[file], self.states[file]))

    @cached_property
    def _maps(self) -> dict[int, MappedFile]:
        return {}

    @cached_property
    def _schemas(self) -> list[Any]:
        return [_schema_of(path) for path in self.paths]

    @cached_property
    def _wanted(self) -> list[list[int]]:
        """The numbers of the columns in each file."""
        names = self.table.schema.names
        return [[schema.names.index(name) for name in names] for schema in self._schemas]

    def describe(self, block: int, row: int) -> str:
        found = self.blocks[block]
        return f"{self.paths[found.file]}, record batch {found.batch}, row {self.row_of(block, row):,}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the files' names and sizes, the columns, and the number of rows read of each batch."""
        sizes = [state.size for state in self.states]
        return ("arrow", relative(self.paths), sizes, *self.table.described(), self.bounds.tolist())


def arrow_files(paths: list[str], columns: Sequence[str] | None, nulls: Nulls, cache_bytes: int) -> BlockedSource:
    """Return the source of `ps.read_arrow`."""
    call = "read_arrow"
    require("pyarrow.ipc", extra="arrow", purpose=call)
    states = states_of(paths)
    schemas = [_schema_of(path) for path in paths]
    with errors_at(paths[0]):
        table = table_of(schemas[0], columns, nulls, f"{call}: {paths[0]}")
    for path, schema in zip(paths[1:], schemas[1:], strict=True):
        check_same(call, paths[0], table, path, schema, columns)
    found = side_by_side(lambda file: list(_batches_of(paths[file], file)), len(paths))
    batches = [batch for of_file in found for batch in of_file if batch.rows]
    if table.drops:
        batches = _whole(paths, schemas, table, batches)
    counts = [batch.rows if batch.kept is None else len(batch.kept) for batch in batches]
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    expensive = any(batch.compressed or batch.kept is not None for batch in batches)
    size = table.row_bytes * int(bounds[-1]) // max(len(batches), 1) if expensive else None
    store = ArrowFiles(paths, states, table, batches, bounds, size)
    return BlockedSource(store, cache_bytes if expensive or are_remote(paths) else _ALL)  # mapped ones take no memory


def _schema_of(path: str) -> Any:
    """Return the schema of an Arrow file or stream; raise a `DataError` for another file."""
    arrow = require("pyarrow", extra="arrow", purpose="read_arrow")
    where = f"{path} cannot be read as an Arrow file or stream"
    with told_of_kind(path, "arrow"), errors_at(where), _opened(_content_of(path)) as source:
        if is_stream(path):
            return arrow.ipc.open_stream(source).schema
        return arrow.ipc.open_file(source).schema


def is_stream(path: str) -> bool:
    """Return whether a file holds a stream: an IPC file begins with a magic string, and has an index at its end."""
    return read_extent(path, 0, len(_MAGIC)) != _MAGIC


def _content_of(path: str) -> FileContent:
    return PagedReader(path) if isinstance(path, RemoteFile) else MappedFile(path)


@contextmanager
def _opened(content: FileContent) -> Generator[Any]:
    """Yield the bytes of a file as a source for Arrow, whose arrays are views of those of a local file."""
    arrow = require("pyarrow", extra="arrow", purpose="read_arrow")
    if isinstance(content, PagedReader):
        yield arrow.PythonFile(content, "r")
        return
    try:
        with arrow.BufferReader(arrow.py_buffer(content.content)) as source:
            yield source
    finally:
        content.check()


def read_batch(content: FileContent, found: RecordBatch, schema: Any, columns: Sequence[int]) -> Any:
    """Return some columns of one record batch, as views of the mapped file if not compressed."""
    arrow = require("pyarrow", extra="arrow", purpose="read_arrow")
    is_mapped = isinstance(content, MappedFile) and not found.compressed  # skipping mapped columns costs nothing
    options = arrow.ipc.IpcReadOptions(included_fields=None if is_mapped else sorted(set(columns)), use_threads=False)
    with _opened(content) as source:
        if found.position >= 0:
            source.seek(found.position)
            batch = arrow.ipc.read_record_batch(arrow.ipc.read_message(source), schema)
        else:
            batch = arrow.ipc.open_file(source, options=options).get_batch(found.batch)
    batch = batch.select([schema.names[column] for column in columns])
    if batch.num_rows != found.rows:
        raise DataError(f"{batch.num_rows:,} rows found, {found.rows:,} expected")
    batch.validate()
    for column in batch.columns:
        for part in _parts(arrow, column):
            part.validate(full=True)
    return batch


def _parts(arrow: Any, column: Any) -> tuple[Any, ...]:
    """Return the column, or its codes and dictionary; codes are checked later, when the error can name their row."""
    return (column.indices, column.dictionary) if arrow.types.is_dictionary(column.type) else (column,)


def batches_of(path: str) -> list[RecordBatch]:
    """Return the record batches of a file; raise a `DataError` if unreadable."""
    _schema_of(path)
    return list(_batches_of(path, 0))


def _batches_of(path: str, file: int) -> Iterator[RecordBatch]:
    if isinstance(path, RemoteFile):
        (index,) = index_files([path], BATCHES)
        for number, (position, rows, begin, end, compressed) in enumerate(index.arrays["batches"].tolist()):
            yield RecordBatch(file, number, position, rows, bool(compressed), None, begin, end)
        return
    arrow = require("pyarrow", extra="arrow", purpose="read_arrow")
    with errors_at(path), _opened(MappedFile(path)) as source:
        if is_stream(path):
            yield from _of_stream(arrow, source, file)
        elif (count := (reader := arrow.ipc.open_file(source)).num_record_batches) > 0:
            compressed = not _is_mapped(reader.get_batch(0), source)
            source.seek(0)
            lies = batch_extents(np.frombuffer(source.read_buffer(), np.uint8))
            for number in range(count):
                source.seek(0)
                rows, extent = _rows_of(arrow, source, number), lies[number] if len(lies) == count else (0, 0)
                yield RecordBatch(file, number, -1, rows, compressed, None, *extent)


def _scan(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    """Return the index of a remote file: the position, rows, begin, end and compression of each record batch."""
    found = [(each.position, each.rows, each.begin, each.end, int(each.compressed)) for each in _batches_of(path, 0)]
    return {"batches": np.array(found, np.int64).reshape(len(found), 5)}


def _is_sound(arrays: Arrays, size: int) -> bool:
    if not has_form(arrays, np.int64, {"batches": (None, 5)}):
        return False
    batches = arrays["batches"]
    return are_within(batches[:, 1], _MOST_ROWS) and are_within(batches[:, 2:4], size) and are_within(batches[:, 4], 1)


BATCHES = IndexKind("arrow", _scan, _is_sound, nothing={"batches": np.zeros((0, 5), np.int64)})


def _rows_of(arrow: Any, source: Any, number: int) -> int:
    """Return the number of rows of a record batch, reading only the first column."""
    options = arrow.ipc.IpcReadOptions(included_fields=[0], use_threads=False)
    return arrow.ipc.open_file(source, options=options).get_batch(number).num_rows


def _of_stream(arrow: Any, source: Any, file: int) -> Iterator[RecordBatch]:
    schema = arrow.ipc.read_schema(arrow.ipc.read_message(source))
    number = 0
    while True:
        position = source.tell()
        try:
            message = arrow.ipc.read_message(source)
        except EOFError:
            return  # the end marker, or the end of the file
        if message.type != "record batch":
            raise DataError(f"a stream with a {message.type} cannot be read at random; write it as an IPC file")
        batch = arrow.ipc.read_record_batch(message, schema)
        yield RecordBatch(
            file, number, position, batch.num_rows, not _is_mapped(batch, source), None, position, source.tell()
        )
        number += 1


def _is_mapped(batch: Any, source: Any) -> bool:
    """Return whether a batch lies entirely in the mapped file, so that nothing was decompressed."""
    at = source.tell()
    source.seek(0)
    memory = source.read_buffer()
    source.seek(at)
    buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None and buffer.size]
    return all(memory.address <= buffer.address <= memory.address + memory.size for buffer in buffers)


def _whole(paths: list[str], schemas: list[Any], table: Table, batches: list[RecordBatch]) -> list[RecordBatch]:
    """Return the batches that have rows without missing values, each with those rows."""
    arrow = require("pyarrow", extra="arrow", purpose="read_arrow")

    def look(at: int) -> RecordBatch:
        found = batches[at]
        with errors_at(f"{paths[found.file]}, record batch {found.batch}"):
            schema = schemas[found.file]
            columns = [schema.names.index(name) for name in table.schema.names]
            read = arrow.Table.from_batches([read_batch(_content_of(paths[found.file]), found, schema, columns)])
            kept = np.flatnonzero(table.whole_rows(read))
        return found if len(kept) == found.rows else found._replace(kept=kept)

    looked = side_by_side(look, len(batches))
    return [batch for batch in looked if batch.kept is None or len(batch.kept)]
