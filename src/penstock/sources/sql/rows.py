"""Rows of a database, read by ranges of a key through any DB-API or ADBC connection."""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.cached import cached_property
from penstock.core.checks import is_one_of
from penstock.core.digest import digest
from penstock.core.errors import DataError, PlanError
from penstock.core.frozen import frozen
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec, Spec
from penstock.sources.blocked import BlockedSource, DecodedColumn
from penstock.sources.sql.sqlite import WAL, RemoteSqlite, Sqlite
from penstock.sources.sql.values import spec_of_values, values_of

Connect = Callable[[], Any]
_TEXT_BYTES = 64
_SAMPLED = 256  # rows read to find the types of the columns
_FETCHED = 10_000  # keys at a time
_FORMATTED = ("format", "pyformat")  # in these, a percent sign has a meaning


@frozen()
class SqlDialect:
    """The quoting of names and passing of values for a database: `paramstyle` is that of its module."""

    quote: str
    paramstyle: str

    def identifier(self, name: str) -> str:
        """Return a name in quotes, with any quotes inside doubled.

        >>> SqlDialect("`", "qmark").identifier("odd `name`")
        '`odd ``name```'
        """
        return f"{self.quote}{name.replace(self.quote, self.quote * 2)}{self.quote}"

    def between(self, select: str, key: str, values: Sequence[Any], *, closed: bool) -> tuple[str, Any]:
        """Return the statement for the rows in a range of keys (including the end if `closed`), and its parameters.

        >>> SqlDialect('"', "numeric").between("SELECT x FROM t", '"id"', [3, 5], closed=False)
        ('SELECT x FROM t WHERE "id" >= :1 AND "id" < :2 ORDER BY "id"', (3, 5))
        """
        form = {"qmark": "?", "numeric": ":{}", "named": ":p{}", "format": "%s", "pyformat": "%(p{})s"}[self.paramstyle]
        low, high = form.format(1), form.format(2)
        if self.paramstyle in _FORMATTED:
            select, key = select.replace("%", "%%"), key.replace("%", "%%")
        made = f"{select} WHERE {key} >= {low} AND {key} {'<=' if closed else '<'} {high} ORDER BY {key}"
        if self.paramstyle in ("named", "pyformat"):
            return made, {f"p{i + 1}": value for i, value in enumerate(values)}
        return made, tuple(values)


@frozen()
class Relation:
    """A table or a query, and the key that orders its rows."""

    text: str
    """The name in quotes, or the query in parentheses."""
    key: str
    columns: tuple[str, ...]
    dialect: SqlDialect

    @property
    def quoted_key(self) -> str:
        return self.dialect.identifier(self.key)

    def select(self) -> str:
        """Return the beginning of the statement that reads the columns."""
        return f"SELECT {', '.join(map(self.dialect.identifier, self.columns))} FROM {self.text}"  # noqa: S608 - quoted


@frozen(eq=False)
class SqlRows:
    """The rows of a table or of a query, in the order of its key; blocks are ranges of keys."""

    connect: Connect
    label: str
    relation: Relation
    spec: Spec
    fill: Mapping[str, Any]
    edges: list[Any]
    """The first key of each block, and the last key."""
    bounds: NDArray[np.int64]

    @property
    def name(self) -> str:
        return f"read_sql({self.label})"

    @property
    def block_bytes(self) -> int:
        specs = flatten(self.spec)[0]
        size = sum(spec.dtype.itemsize if isinstance(spec, ArraySpec) else _TEXT_BYTES for spec in specs)
        return size * int(self.bounds[-1]) // max(len(self.bounds) - 1, 1)

    def decode(self, block: int) -> list[DecodedColumn]:
        low, high = self.edges[block], self.edges[block + 1]
        closed = block == len(self.bounds) - 2
        relation = self.relation
        statement = relation.dialect.between(relation.select(), relation.quoted_key, [low, high], closed=closed)
        rows = [row for some in self._connections.fetched(*statement) for row in some]
        expected = int(self.bounds[block + 1] - self.bounds[block])
        if len(rows) != expected:
            raise DataError(
                f"{self.name}: {len(rows):,} rows found with {self.relation.key} from {low!r} to {high!r}, and "
                f"{expected:,} when the dataset was made; make it again"
            )
        names = flatten({name: name for name in self.relation.columns})[0]
        values = dict(zip(self.relation.columns, zip(*rows, strict=True), strict=True))
        first = int(self.bounds[block])
        return [
            values_of(values[name], spec, self.fill, f"{self.name}: column {name}", name, first)
            for name, spec in zip(names, flatten(self.spec)[0], strict=True)
        ]

    def check(self, blocks: Iterable[int]) -> None:
        """Do nothing: rows are copies in memory."""

    def describe(self, block: int, row: int) -> str:
        return f"{self.label}, row {int(self.bounds[block]) + row:,} by {self.relation.key}"

    @property
    def paths(self) -> Sequence[str]:
        """The files of an SQLite database; none for other databases."""
        if isinstance(self.connect, RemoteSqlite) and self.connect.log is not None:
            return [self.connect.path, self.connect.log]
        return [self.connect.path] if isinstance(self.connect, Sqlite | RemoteSqlite) else []

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the table or query, its columns, and the keys at which blocks begin."""
        edges = digest(repr(self.edges).encode())
        columns = [f"{name}: {spec!r}" for name, spec in self.spec.items()]
        fill = sorted((name, repr(value)) for name, value in self.fill.items())
        return ("sql", self.relation.text, self.relation.key, columns, fill, edges, self.bounds.tolist())

    @cached_property
    def _connections(self) -> Connections:
        return Connections(self.connect)

    def __reduce__(self) -> tuple[Any, ...]:
        return SqlRows, (self.connect, self.label, self.relation, self.spec, self.fill, self.edges, self.bounds)


class Connections:
    """A connection for each thread of each process, closed with their last user."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._local = threading.local()
        self._opened: list[Any] = []
        weakref.finalize(self, _close, self._opened, os.getpid())

    def here(self) -> Any:
        """Return the connection of this thread."""
        local = self._local
        if getattr(local, "process", None) != os.getpid():  # a forked child must not use the parent's connection
            local.connection, local.process = self._connect(), os.getpid()
            self._opened.append(local.connection)
        return local.connection

    def fetched(self, statement: str, values: Any = None) -> Iterator[list[Any]]:
        """Yield the rows of a statement, several at a time, and end its transaction afterwards."""
        connection = self.here()
        with closing(connection.cursor()) as cursor:
            if values is None:
                cursor.execute(statement)
            else:
                cursor.execute(statement, values)
            while rows := cursor.fetchmany(_FETCHED):
                yield rows
        connection.rollback()


def _close(opened: list[Any], process: int) -> None:
    if os.getpid() == process:
        for connection in opened:
            connection.close()


def sql_rows(
    connect: Connect,
    relation: str,
    key: str,
    columns: Sequence[str] | None,
    nulls: Any,
    paramstyle: str | None,
    rows_per_block: int,
    cache_bytes: int,
) -> BlockedSource:
    """Return the source of `ps.read_sql`; `relation` is a table, or a query if it contains a space."""
    connections = Connections(connect)
    dialect = _dialect(connections.here(), paramstyle)
    query = relation.strip().rstrip(";")
    if any(character.isspace() for character in query):
        text, label = f"({query}) AS penstock_rows", f"{query[:40]!r}"
    else:
        text, label = ".".join(map(dialect.identifier, query.split("."))), repr(query)
    try:
        every = _columns(connections, text)
    except Exception as error:
        place = f" {connect.path}" if isinstance(connect, Sqlite | RemoteSqlite) else ""
        error.add_note(
            f"read_sql({label}): the database{place} cannot answer; check the name of the table or the query"
            + (", and that the file is a complete SQLite database" if place else "")
            + (f"; it is in WAL mode, and there is no {place.strip()}{WAL}" if getattr(connect, "lacks_log", 0) else "")
        )
        raise
    for name in [key, *(columns or ())]:
        if name not in every:
            raise PlanError(f"read_sql({label}): there is no column {name!r}; it has {', '.join(map(repr, every))}")
    chosen = tuple(every if columns is None else dict.fromkeys(columns))
    fill: Mapping[str, Any] = {} if is_one_of(nulls, "raise") else nulls
    if not isinstance(fill, Mapping) or any(name not in chosen for name in fill):
        raise ValueError(f"read_sql(nulls={nulls!r:.60}): expected 'raise' or a dict of values by column; "
                         "to leave rows out, change the query")  # fmt: skip
    found = Relation(text, key, chosen, dialect)
    sample = next(connections.fetched(f"{found.select()} ORDER BY {found.quoted_key} LIMIT {_SAMPLED}"), [])
    spec = {
        name: spec_of_values([row[at] for row in sample], f"read_sql({label}): column {name}")
        for at, name in enumerate(chosen)
    }
    edges, bounds = _blocks(connections, found, label, rows_per_block)
    return BlockedSource(SqlRows(connect, label, found, spec, fill, edges, bounds), cache_bytes)


def _blocks(
    connections: Connections, relation: Relation, label: str, rows_per_block: int
) -> tuple[list[Any], NDArray[np.int64]]:
    """Return the first key of each block and the last key, with the number of rows before each."""
    key = relation.quoted_key
    counts = f"SELECT COUNT(*), COUNT({key}), COUNT(DISTINCT {key}), MIN({key}), MAX({key}) FROM {relation.text}"  # noqa: S608 - quoted
    ((rows, given, different, least, most),) = next(connections.fetched(counts))
    if given < rows:
        raise DataError(
            f"read_sql({label}): the key {relation.key!r} is NULL in {rows - given:,} rows; choose another key"
        )
    if different < rows:
        raise DataError(
            f"read_sql({label}): {rows - different:,} rows have the same {relation.key!r} as another row; choose a key "
            "with distinct values, so that the order of rows is always the same"
        )
    bounds = np.append(np.arange(0, rows, rows_per_block), rows)
    if not rows:
        return [], np.zeros(1, np.int64)
    if isinstance(least, int) and isinstance(most, int) and most - least + 1 == rows:
        return [*range(least, most + 1, rows_per_block), most], bounds
    edges: list[Any] = []
    seen = 0
    last: Any = None
    for some in connections.fetched(f"SELECT {key} FROM {relation.text} ORDER BY {key}"):  # noqa: S608 - quoted
        keys = [row[0] for row in some]
        edges += keys[-seen % rows_per_block :: rows_per_block]
        seen, last = seen + len(keys), keys[-1]
    if seen != rows or not all(isinstance(value, type(edges[0])) for value in (last, *edges)):
        raise DataError(
            f"read_sql({label}): the keys {relation.key!r} changed while they were read, or are of two types"
        )
    return [*edges, last], bounds


def _columns(connections: Connections, text: str) -> list[str]:
    with closing(connections.here().cursor()) as cursor:
        cursor.execute(f"SELECT * FROM {text} WHERE 1 = 0")  # noqa: S608 - quoted
        return [described[0] for described in cursor.description]


def _dialect(connection: Any, paramstyle: str | None) -> SqlDialect:
    """Return the dialect for a connection, by its module."""
    module = type(connection).__module__
    name = module
    while paramstyle is None and name:
        paramstyle = getattr(sys.modules.get(name), "paramstyle", None)
        name = name.rpartition(".")[0]
    if paramstyle is None or not is_one_of(paramstyle, "qmark", "numeric", "named", "format", "pyformat"):
        raise PlanError(f"read_sql: {module} has no paramstyle; pass paramstyle= as in DB-API")
    return SqlDialect("`" if "mysql" in module.lower() or "mariadb" in module.lower() else '"', paramstyle)
