"""CSV files that are compressed as a whole: their rows in order, one block of records at a time."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np

from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns
from penstock.elements.nested.structure import flatten
from penstock.elements.ragged import Ragged
from penstock.elements.spec import Spec
from penstock.sources.arrow.tables import Nulls, Table, shown, table_of
from penstock.sources.blocked import DecodedColumn
from penstock.sources.csv.columns import RecordBlock, check_same_names, names_in, schema_of, types_in
from penstock.sources.csv.parsing import Apart, Form, Records, Rowmaker
from penstock.sources.csv.records import record_ends
from penstock.sources.stream import LARGEST, content_of_files
from penstock.storage.compression import open_decompressed


@frozen(eq=False)
class CsvStream:
    """The rows of CSV files, file by file, each decompressed by `compressions[i]`, if not `None`.

    `names` has the names of the columns in the order of the file `first`; without `headed`, of all files.
    """

    paths: list[str]
    compressions: list[str | None]
    first: str
    names: list[str]
    headed: bool
    form: Form
    table: Table
    block_bytes: int

    @property
    def name(self) -> str:
        return f"read_csv({shown(self.paths)})"

    def spec(self) -> Spec:
        return self.table.layout.spec

    def read(self, file: int, /) -> Iterator[Chunk]:
        path = self.paths[file]
        blocks = _blocks(path, self.compressions[file], self.form, self.block_bytes, headed=self.headed)
        with closing(blocks):
            names = _names(blocks, path, self.form) if self.headed else self.names
            check_same_names(self.first, self.names, path, names)
            maker = Rowmaker(path, names, self.table, self.form)
            for block in blocks:
                for chunk in self._chunks(block, maker):
                    if len(chunk):
                        yield chunk

    def _chunks(self, block: Records, maker: Rowmaker) -> Iterator[Chunk]:
        """Yield the rows of a block: all together or, if some are invalid, those before and after each."""
        structure = flatten(self.table.layout.spec)[1]

        def made(records: Records) -> Chunk:
            columns, count = maker.kept_columns(records)
            return Columns(structure, list(map(_column, columns)), count)

        try:
            return iter([made(block)])
        except DataError:
            return Apart(block, maker).each(made)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return a digest of the sizes and content of the files, the columns, and the dialect."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        content, described = content_of_files(self.paths), self.table.described()
        return ("csv stream", content, *described, self.table.drops, self.form.told, self.headed)


def csv_stream(
    paths: list[str],
    compressions: list[str | None],
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
    types: Mapping[str, Any] | None,
    form: Form,
    nulls: Nulls,
    block_bytes: int,
) -> CsvStream:
    """Return the source of `ps.read_csv` if a file is compressed; types come from the first readable file."""
    headed = names is None
    failure: DataError | None = None
    for path, compression in zip(paths, compressions, strict=True):
        try:
            with closing(_blocks(path, compression, form, block_bytes, headed=headed)) as blocks:
                first = _names(blocks, path, form) if names is None else list(names)
                found = types_in((RecordBlock(path, first, block) for block in blocks), types or (), form)
        except DataError as error:
            failure = failure or error
            continue
        table = table_of(schema_of(first, types, found), columns, nulls, f"read_csv: {path}")
        return CsvStream(paths, compressions, path, first, headed, form, table, block_bytes)
    raise failure or DataError("there are no files")


def _names(blocks: Iterator[Records], path: str, form: Form) -> list[str]:
    head = next(blocks, None)
    return names_in(b"" if head is None else head.content, path, form)


def _blocks(
    path: str, compression: str | None, form: Form, block_bytes: int, *, headed: bool
) -> Generator[Records, None, None]:
    """Yield the records of a file, about `block_bytes` at a time; for a headed file, first the record with names."""
    held: list[bytes] = []  # the content since `begin`
    begin = line = done = 0  # of the next block; lines and records before it
    total = lines = 0  # records and lines so far
    wanted = 1 if headed else block_bytes
    last = 0  # the end of the last record so far
    failure: DataError | None = None
    with open_decompressed(path, compression) as file:
        found = record_ends(file, path, form.dialect, lambda _: None)
        while True:
            try:
                ends = next(found, None)
            except DataError as error:  # after the records so far
                failure, ends = error, None
            if ends is None:
                break
            begin = begin if held else ends.begin  # after the mark, if there is one
            held.append(ends.content)
            cuts = np.flatnonzero(ends.records)
            positions, before = ends.lines[cuts], total + np.cumsum(ends.records & ~ends.empty)[cuts]
            low = begin
            while True:
                at = int(max(positions.searchsorted(begin + wanted), before.searchsorted(done, "right")))
                if at == len(cuts):
                    break
                held = [b"".join(held)]
                end = int(positions[at])
                yield Records(held[0][begin - low : end - low], int(before[at]) - done, line, max(done - headed, 0))
                begin, line, done, wanted = end, lines + int(cuts[at]) + 1, int(before[at]), block_bytes
            held = [held[0][begin - low :]] if begin > low else held
            lines += len(ends.lines)
            total = int(before[-1]) if len(before) else total
            last = int(positions[-1]) if len(positions) else last
            if sum(map(len, held)) > LARGEST:
                raise DataError(f"{path}: the record at byte {begin:,} of its content has more than {LARGEST} bytes")
    if total > done:
        yield Records(b"".join(held)[: last - begin], total - done, line, max(done - headed, 0))
    if failure is not None:
        raise failure


def _column(held: DecodedColumn) -> Column:
    return held if isinstance(held, np.ndarray | Ragged) else held.take(np.arange(len(held), dtype=np.int64))
