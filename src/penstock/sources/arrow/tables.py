"""The common parts of table readers: missing values, kept rows, errors."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, Literal, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.core.checks import check_names, is_one_of
from penstock.core.contexts import contextmanager
from penstock.core.errors import DataError, ElementError, PlanError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.spec import ArraySpec, Spec
from penstock.sources.arrow.layout import TableLayout, differences, layout_of
from penstock.sources.arrow.values import CodeError, NullError, held, null_rows
from penstock.sources.blocked import DecodedColumn
from penstock.sources.unreadable import starts_of
from penstock.storage.state import FileState, OpenedAgain

Nulls: TypeAlias = Literal["raise", "drop"] | Mapping[str, Any]
_TEXT_BYTES = 64  # of a value of unknown length, about


@frozen()
class Table:
    """The mapping of tables to elements: the columns, and replacements of missing values."""

    schema: Any
    layout: TableLayout
    fill: Mapping[str, Any]
    drops: bool

    @property
    def row_bytes(self) -> int:
        """The approximate number of bytes of a row, assuming short text and lists."""
        known = [
            spec.dtype.itemsize * int(np.prod(spec.shape)) if _fixed(spec) else _TEXT_BYTES for spec in self._specs
        ]
        return sum(known)

    @property
    def _specs(self) -> list[Any]:
        return [leaf.spec for leaf in self.layout.leaves]

    def loose(self) -> list[str]:
        """Return the names of the columns whose values have no fixed size."""
        columns = {leaf.column for leaf in self.layout.leaves if not _fixed(leaf.spec)}
        return [self.schema.names[column] for column in sorted(columns)]

    def fixed_bytes(self) -> int:
        """Return the number of bytes of a row in the columns whose values have a fixed size."""
        return sum(spec.dtype.itemsize * int(np.prod(spec.shape)) for spec in self._specs if _fixed(spec))

    def columns(self, table: Any) -> list[DecodedColumn]:
        """Return the columns of a block, from a table with the columns of the schema."""
        by_name = {name: table.column(name) for name in self.schema.names}
        names = self.schema.names
        return [held(leaf, by_name[names[leaf.column]], self.fill) for leaf in self.layout.leaves]

    def described(self) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the columns and the replacements of missing values, for a fingerprint."""
        columns = [f"{leaf.path}: {leaf.spec!r}" for leaf in self.layout.leaves]
        return columns, sorted((path, repr(value)) for path, value in self.fill.items())

    def whole_rows(self, table: Any) -> NDArray[np.bool_]:
        """Return which rows have no missing value, `bool[k]`."""
        found = np.ones(table.num_rows, np.bool_)
        for name in self.schema.names:
            found &= ~null_rows(table.column(name), name)
        return found


class PartOfFile(Protocol):
    """A block of a file, and the rows of it that are read, sorted; `None` for all."""

    @property
    def file(self) -> int: ...
    @property
    def kept(self) -> NDArray[np.int64] | None: ...


B = TypeVar("B", bound=PartOfFile)


@frozen(eq=False)
class TableFiles(OpenedAgain, Generic[B]):
    """The rows of files of one format, in the order of the files, as blocks with the rows that are read."""

    format: ClassVar[str]

    paths: list[str]
    states: list[FileState]
    table: Table
    blocks: list[B]
    bounds: NDArray[np.int64]

    @property
    def name(self) -> str:
        return f"read_{self.format}({shown(self.paths)})"

    @property
    def file_starts(self) -> NDArray[np.int64]:
        """The first row of each file."""
        return starts_of([block.file for block in self.blocks], self.bounds, len(self.paths))

    @property
    def spec(self) -> Spec:
        return self.table.layout.spec

    def row_of(self, block: int, row: int) -> int:
        """Return the place in a block, as it is in the file, of one of the rows that are read."""
        kept = self.blocks[block].kept
        return row if kept is None else int(kept[row])

    def check(self, blocks: Iterable[int]) -> None:
        """Raise a `DataError` if a file of these blocks has changed, even for cached rows."""
        for file in {self.blocks[block].file for block in blocks}:
            self.states[file].check(self.paths[file])


def _fixed(spec: Any) -> bool:
    return isinstance(spec, ArraySpec) and spec.known and not spec.dtype.hasobject


def table_of(schema: Any, columns: Sequence[str] | None, nulls: Nulls, call: str) -> Table:
    """Return the mapping of a `pyarrow.Schema` to elements; raise a `PlanError` for a name missing in the schema."""
    arrow = require("pyarrow", extra="arrow", purpose=call)
    if columns is not None:
        for name in check_names(call.partition(":")[0], "columns", columns):
            if name not in schema.names:
                raise PlanError(f"{call}: there is no column {name!r}{_nearest(name, schema.names)}")
        schema = arrow.schema([schema.field(name) for name in dict.fromkeys(columns)])
    layout = layout_of(schema, call)
    fill: Mapping[str, Any] = {}
    if isinstance(nulls, Mapping):
        paths = [leaf.path for leaf in layout.leaves]
        for path in nulls:
            if path not in paths:
                raise PlanError(f"{call}: nulls= has {path!r}, which is not a column{_nearest(path, paths)}")
        fill = dict(nulls)
    elif not is_one_of(nulls, "raise", "drop"):
        raise ValueError(f"{call}: nulls={nulls!r:.60}: expected 'raise', 'drop', or a dict of values by column")
    return Table(schema.remove_metadata(), layout, fill, nulls == "drop")


def _nearest(name: str, names: Sequence[str]) -> str:
    near = get_close_matches(str(name), names, n=1)
    some = ", ".join(map(repr, names[:8]))
    return f"; did you mean {near[0]!r}?" if near else f"; there are {some}{', ...' if len(names) > 8 else ''}"


def check_same(call: str, first: str, table: Table, second: str, other: Any, columns: Sequence[str] | None) -> None:
    """Raise a `DataError` that names both files if their schemas differ in more than order or metadata."""
    if columns is not None:
        arrow = require("pyarrow", extra="arrow", purpose=call)
        other = arrow.schema([other.field(name) for name in dict.fromkeys(columns) if name in other.names])
    different = next(differences(table.schema, other), None)
    if different is not None:
        raise DataError(
            f"{call}: {first} and {second} differ: {different}; choose columns= that both have, or read them separately"
        )


@contextmanager
def errors_at(place: str, first_row: int = 0) -> Generator[None]:
    """Raise errors of Arrow as a `DataError` that begins with the place."""
    arrow = require("pyarrow", extra="arrow", purpose=place)
    try:
        yield
    except NullError as error:
        raise DataError(
            f"{place}: column {error.path} is null in row {first_row + error.row:,}; "
            f"pass nulls={{{error.path!r}: a value}}, nulls='drop' to leave such rows out, or columns= without it"
        ) from None
    except CodeError as error:
        raise DataError(f"{place}: {error.behind(first_row)}") from None
    except DataError as error:
        raise DataError(f"{place}: {error}") from None
    except (arrow.ArrowException, ElementError, UnicodeDecodeError, OverflowError) as error:
        raise DataError(f"{place}: {error}") from None
    except OSError as error:
        if error.errno is not None:
            raise
        raise DataError(f"{place}: {error}") from None


def side_by_side(make: Callable[[int], Any], count: int) -> list[Any]:
    """Return `[make(0), ..., make(count - 1)]`, computed by several threads."""
    if count < 2:
        return [make(i) for i in range(count)]
    with ThreadPoolExecutor(min(count, 16, 2 * (os.cpu_count() or 1))) as threads:
        return list(threads.map(make, range(count)))


def shown(paths: Sequence[str]) -> str:
    """Return the file names for the name of a source."""
    return repr(paths[0]) if len(paths) == 1 else f"{len(paths):,} files"


def relative(paths: Sequence[str]) -> list[str]:
    """Return the paths relative to their common folder, independent of the place of that folder."""
    whole = list(map(os.path.abspath, paths))
    folder = os.path.commonpath([os.path.dirname(path) for path in whole]) if whole else ""
    return [os.path.relpath(path, folder) for path in whole]
