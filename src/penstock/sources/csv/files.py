"""CSV files, parsed one block at a time through pyarrow, with random access by an index of records."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.sources.arrow.tables import Nulls, TableFiles, relative, side_by_side, table_of
from penstock.sources.blocked import BlockedSource, DecodedColumn
from penstock.sources.csv.columns import RecordBlock, check_same_names, names_in, schema_of, types_in
from penstock.sources.csv.parsing import Apart, Form, Records, Rowmaker
from penstock.sources.csv.records import NO_BLOCKS, Dialect, has_blocks, index_of
from penstock.storage.indexing import IndexKind, index_files
from penstock.storage.local import Extent, read_extent
from penstock.storage.sidecar import Sidecar, Stamp
from penstock.storage.state import FileState


class BlockExtent(NamedTuple):
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


@frozen(eq=False)
class CsvFiles(TableFiles[BlockExtent]):
    """The rows of CSV files, in the order of the files."""

    format = "csv"

    makers: list[Rowmaker]
    stamps: list[Stamp]
    form: Form
    stretch_bytes: int

    @property
    def kind(self) -> IndexKind:
        """The kind of index that locates the blocks."""
        return _kind_of_index(self.form.dialect, self.stretch_bytes)

    @property
    def block_bytes(self) -> int:
        return self.table.row_bytes * int(self.bounds[-1]) // max(len(self.blocks), 1)

    def decode(self, block: int) -> list[DecodedColumn] | Apart:
        found = self.blocks[block]
        maker = self.makers[found.file]
        records = _records(maker.path, found)
        self.check([block])
        try:
            return maker.columns(records, found.kept)
        except DataError:
            return Apart(records, maker, found.kept)

    def extents(self, block: int) -> list[Extent]:
        """Return the extent of a block."""
        found = self.blocks[block]
        return [(self.paths[found.file], found.begin, found.end)]

    def describe(self, block: int, row: int) -> str:
        found = self.blocks[block]
        return f"{self.paths[found.file]}, row {found.first + self.row_of(block, row):,}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the files' names, sizes and digests, the columns, and the dialect."""
        files = [(stamp.size, stamp.digest) for stamp in self.stamps]
        return ("csv", relative(self.paths), files, *self.table.described(), self.form.told, self.bounds.tolist())


def csv_files(  # noqa: PLR0913 - files are written in many ways
    paths: list[str],
    columns: Sequence[str] | None,
    names: Sequence[str] | None,
    types: Mapping[str, Any] | None,
    form: Form,
    nulls: Nulls,
    block_bytes: int,
    cache_bytes: int,
    *,
    torn: Collection[str] = (),
) -> BlockedSource:
    """Return the source of `ps.read_csv`; for `torn` files, it reads the records before the damage."""
    require("pyarrow.csv", extra="arrow", purpose="read_csv")
    sidecars = index_files(paths, _kind_of_index(form.dialect, block_bytes), tolerant=bool(torn))
    headed = names is None
    listed = [
        _header(path, sidecar, form) if names is None else list(names)
        for path, sidecar in zip(paths, sidecars, strict=True)
    ]
    found = [list(_stretches(file, sidecar, headed=headed)) for file, sidecar in enumerate(sidecars)]
    for path, theirs in zip(paths, listed, strict=True):
        check_same_names(paths[0], listed[0], path, theirs)
    stretches = list(chain(*found))
    blocks = (RecordBlock(paths[each.file], listed[each.file], _records(paths[each.file], each)) for each in stretches)
    inferred = types_in(blocks, types or (), form)
    table = table_of(schema_of(listed[0], types, inferred), columns, nulls, f"read_csv: {paths[0]}")
    makers = [Rowmaker(path, names, table, form) for path, names in zip(paths, listed, strict=True)]
    if table.drops:
        stretches = _whole(makers, stretches)
    counts = [found.rows if found.kept is None else len(found.kept) for found in stretches]
    bounds = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
    stamps = [sidecar.stamp for sidecar in sidecars]
    states = [sidecar.state or FileState.of(path) for path, sidecar in zip(paths, sidecars, strict=True)]
    store = CsvFiles(paths, states, table, stretches, bounds, makers, stamps, form, block_bytes)
    return BlockedSource(store, cache_bytes)


def check_csv(path: str, form: Form, block_bytes: int, *, headed: bool) -> None:
    """Raise a `DataError` if a file is not valid CSV to its end, or is `headed` and has no names of columns."""
    (sidecar,) = index_files([path], _kind_of_index(form.dialect, block_bytes))
    if headed:
        _header(path, sidecar, form)


def begins_as_csv(path: str, form: Form, block_bytes: int) -> bool:
    """Return whether there are records before the fault of a file."""
    (sidecar,) = index_files([path], _kind_of_index(form.dialect, block_bytes), tolerant=True)
    return sidecar.fault is not None and len(sidecar.arrays["offsets"]) > 1


def _kind_of_index(dialect: Dialect, block_bytes: int) -> IndexKind:
    parameters = (("delimiter", dialect.delimiter), ("quote", dialect.quote), ("block_bytes", block_bytes))

    def scan(path: str, tell: Any) -> Mapping[str, NDArray[Any]]:
        return index_of(path, dialect, block_bytes, tell)

    return IndexKind("csv", scan, has_blocks, parameters, NO_BLOCKS)


def _records(path: str, found: BlockExtent) -> Records:
    content = read_extent(path, found.begin, found.end)
    if len(content) != found.end - found.begin:
        raise DataError(f"{path}: the file was cut short: bytes {found.begin:,} to {found.end:,} are incomplete")
    return Records(content, found.rows, found.line, found.first)


def _header(path: str, sidecar: Sidecar, form: Form) -> list[str]:
    """Return the names in the first record of a file."""
    return names_in(read_extent(path, 0, int(sidecar.arrays["head"][0])), path, form)


def _stretches(file: int, sidecar: Sidecar, *, headed: bool) -> list[BlockExtent]:
    arrays = sidecar.arrays
    offsets, rows, lines = (arrays[name].copy() for name in ("offsets", "rows", "lines"))
    if headed and len(offsets) > 1:
        offsets[0], lines[0] = arrays["head"]
        rows[1:] -= 1
    table = np.stack([offsets[:-1], offsets[1:], np.diff(rows), lines[:-1], rows[:-1]], axis=1)
    return [BlockExtent(file, *block) for block in table[np.diff(rows) > 0].tolist()]


def _whole(makers: list[Rowmaker], stretches: list[BlockExtent]) -> list[BlockExtent]:
    """Return the blocks that have rows without missing values, each with those rows; invalid rows fail when read."""

    def look(at: int) -> BlockExtent:
        found = stretches[at]
        maker = makers[found.file]
        records = _records(maker.path, found)
        try:
            whole = maker.whole_rows(records)
        except DataError:
            whole = Apart(records, maker).whole_rows()
        return found if whole.all() else found._replace(kept=np.flatnonzero(whole))

    looked = side_by_side(look, len(stretches))
    return [found for found in looked if found.kept is None or len(found.kept)]
