"""Datasets of tables: Parquet, Arrow, CSV, SQL."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal

from penstock.core.checks import check_count, check_function, check_mapping, check_names, check_text, is_one_of
from penstock.core.errors import PlanError
from penstock.core.sizes import check_bytes
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.sources.arrow.tables import Nulls
from penstock.sources.blocked import CACHE_BYTES, BlockedSource
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, find_files, shown_patterns
from penstock.storage.remote.file import RemoteFile

SERVERS = ("postgresql", "postgres", "mysql", "mariadb", "mssql", "oracle", "snowflake", "clickhouse", "redshift")
"""The schemes of URLs of database servers."""


@helpful
def read_parquet(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    nulls: Nulls = "raise",
    cache_bytes: int | str = CACHE_BYTES,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Read the rows of Parquet files as dicts, with random access, file after file.

    `paths` is a path or a pattern, whose matches are sorted, or a list of them, which keeps its order and duplicates;
    URLs, with `storage_options` for their stores, are in docs/remote.md.

    Numbers and booleans are scalars of their type, dates and times are `datetime64` or `timedelta64` (in UTC if they
    have a time zone), decimals `float64`, text `str`, binary values `bytes`. Structs become dicts, lists arrays, lists
    of lists `Ragged`, lists of structs and maps dicts of arrays. Only `columns` are read.

    `filters` are `[(column, operator, value), ...]`, all of which must hold, a list of such lists of which one must
    hold, or an expression of `pyarrow.compute`. Row groups excluded by their statistics are never read; the matching
    rows of the others are found now, by reading the columns named in the filters once. The dataset therefore has a
    `len` and random access.

    A missing value raises a `DataError` when it is read. `nulls` may map each column to a value that replaces missing
    ones (the path of a field of a struct is `"person.age"`; a missing list becomes empty), or be `"drop"`: rows with a
    missing value are left out, which reads the columns once now.

    Row groups are decoded whole. The most recently used `cache_bytes` are kept, and `shuffle()` mixes rows within as
    many row groups as half the cache holds. Files whose columns differ, and files that cannot be read, raise a
    `DataError`. Needs pyarrow.

    >>> import pathlib, pyarrow, pyarrow.parquet, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.parquet"
    >>> people = {"age": [31, 4, 55], "name": ["Ann", "Bo", "Cy"]}
    >>> pyarrow.parquet.write_table(pyarrow.table(people), file)
    >>> list(read_parquet(file, filters=[("age", ">", 18)]))
    [{'age': 31, 'name': 'Ann'}, {'age': 55, 'name': 'Cy'}]
    """
    from penstock.sources.arrow.parquet import footer, parquet_files
    from penstock.sources.unreadable import with_unreadable

    cache_bytes = check_bytes("read_parquet", "cache_bytes", cache_bytes)

    def make(files: list[str], _: Collection[str]) -> BlockedSource:
        return parquet_files(files, columns, filters, nulls, cache_bytes)

    reads_now = filters is not None or is_one_of(nulls, "drop")
    look = (lambda path: make([path], ())) if reads_now else footer
    return reading(with_unreadable(find_files(paths, "read_parquet", storage_options=storage_options), make, look))


@helpful
def read_arrow(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    nulls: Nulls = "raise",
    cache_bytes: int | str = CACHE_BYTES,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Read the rows of Arrow IPC files or streams, and of Feather files, as dicts, with random access.

    Paths and types are as in `read_parquet`. Uncompressed files are mapped into memory: columns of numbers are views of
    the mapping, nothing is decoded, and a shuffle covers all rows. Batches of compressed files are decompressed whole,
    and are kept and shuffled as row groups are in `read_parquet`. A compressed stream is decompressed once now, to find
    its batches; a stream with dictionaries has no random access and raises a `DataError`. From a URL, Penstock fetches
    whole record batches. Compress files that you shuffle: only compressed files are shuffled batch by batch.

    `columns` and `nulls` work as in `read_parquet`. Files whose columns differ raise a `DataError`. So does a file that
    is truncated while it is read; keep no views of such a file. Needs pyarrow.

    >>> import pathlib, pyarrow.feather, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.arrow"
    >>> people = pyarrow.table({"age": [31, 4], "name": ["Ann", "Bo"]})
    >>> pyarrow.feather.write_feather(people, file, compression="uncompressed")
    >>> read_arrow(file)[1]
    {'age': 4, 'name': 'Bo'}
    """
    from penstock.sources.arrow.files import arrow_files, batches_of
    from penstock.sources.unreadable import with_unreadable

    cache_bytes = check_bytes("read_arrow", "cache_bytes", cache_bytes)

    def make(files: list[str], _: Collection[str]) -> BlockedSource:
        return arrow_files(files, columns, nulls, cache_bytes)

    look = (lambda path: make([path], ())) if is_one_of(nulls, "drop") else batches_of
    return reading(with_unreadable(find_files(paths, "read_arrow", storage_options=storage_options), make, look))


@helpful
def read_csv(  # noqa: PLR0913 - files are written in many ways
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = None,
    delimiter: str = ",",
    quote: str | None = '"',
    encoding: str = "utf-8",
    nulls: Nulls = "raise",
    block_bytes: int | str = 1 << 20,
    cache_bytes: int | str = CACHE_BYTES,
    compression: str | None = "auto",
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    r"""Read the rows of CSV files as dicts, with random access; quoted fields may contain delimiters and line breaks.

    Paths and URLs are as in `read_parquet`. The first record of each file has the names of the columns, unless `names`
    are given: then every record is a row. Lines end with `\n`, `\r\n` or `\r`; empty lines are skipped. A field that
    begins with a `quote` ends with the next quote; two quotes in a row stand for one.

    A column's type is the one in `types` (`str`, `bytes`, a NumPy dtype, or a type of `pyarrow` or its name), or the
    type of its values in the first block that has any (text, if the first 64 blocks have none). A value that does not
    have that type, or a record with more or fewer fields, raises a `DataError` that names the file and the line;
    `ignore_errors()` leaves out only that record. An empty field of numbers is missing; `nulls` works as in
    `read_parquet`.

    The beginnings of blocks of about `block_bytes` are found once, at reading speed, and kept in an index next to the
    file. Blocks are parsed whole by pyarrow, kept and shuffled as row groups are in `read_parquet`.

    Compressed files (gzip, bzip2, xz, Zstandard, LZ4; `"auto"` detects them by their first bytes) can only be read in
    order: if any file is compressed, the result is a stream.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> file.write_text('age,name\n31,"Ann\nLee"\n4,Bo\n')
    27
    >>> read_csv(file, types={"age": "int16"})[0]
    {'age': np.int16(31), 'name': 'Ann\nLee'}
    """
    from penstock.sources.csv.files import begins_as_csv, check_csv, csv_files
    from penstock.sources.csv.parsing import Form
    from penstock.sources.csv.records import Dialect
    from penstock.sources.csv.stream import csv_stream
    from penstock.sources.text.stream import compression_of_text
    from penstock.sources.unreadable import with_unreadable

    columns = None if columns is None else check_names("read_csv", "columns", columns)
    names = None if names is None else check_names("read_csv", "names", names)
    types = None if types is None else check_mapping("read_csv", "types", types)
    block_bytes = check_bytes("read_csv", "block_bytes", block_bytes)
    cache_bytes = check_bytes("read_csv", "cache_bytes", cache_bytes)
    for name, value in (("delimiter", delimiter), ("quote", quote)):
        if value is None and name == "quote":
            continue
        given = check_text("read_csv", name, value)
        if len(given) != 1 or not given.isascii() or given in "\r\n":
            raise ValueError(f"read_csv({name}={value!r}): expected one ASCII character")
    if delimiter == quote:
        raise ValueError(f"read_csv(delimiter={delimiter!r}): the quote is the same")
    if not keeps_ascii(encoding):
        raise ValueError(f"read_csv(encoding={encoding!r}): expected an encoding that extends ASCII; convert the file")
    form = Form(Dialect(delimiter, quote), encoding.lower())
    files = find_files(paths, "read_csv", storage_options=storage_options)
    given = named_compression("read_csv", compression)
    how = compressions_of(files, given, compression_of_text)
    if any(how):
        return Dataset(ReadStream(csv_stream(files, how, columns, names, types, form, nulls, block_bytes)))

    def make(files: list[str], torn: Collection[str]) -> BlockedSource:
        return csv_files(files, columns, names, types, form, nulls, block_bytes, cache_bytes, torn=torn)

    def look(path: str) -> None:
        check_csv(path, form, block_bytes, headed=names is None)

    return reading(with_unreadable(files, make, look, lambda path: begins_as_csv(path, form, block_bytes)))


def keeps_ascii(encoding: Any) -> bool:
    """Return whether the text encoding exists and extends ASCII."""
    try:
        return "a,\n".encode(encoding) == b"a,\n"
    except (LookupError, TypeError, ValueError):
        return False


@helpful
def read_sql(  # noqa: PLR0913 - databases differ
    connection: str | os.PathLike[str] | Callable[[], Any],
    relation: str,
    *,
    key: str,
    columns: Sequence[str] | None = None,
    nulls: Literal["raise"] | Mapping[str, Any] = "raise",
    paramstyle: str | None = None,
    rows_per_block: int = 4096,
    cache_bytes: int | str = CACHE_BYTES,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Read the rows of a table or a query as dicts, with random access, in the order of `key`.

    `connection` is an SQLite file, or a function without arguments that returns a new connection of any DB-API or ADBC
    driver; the function is called once in each thread, and pickled for other processes. `relation` is the name of a
    table (in a schema: `"schema.table"`), or a query. The `key` is a column whose values are distinct, never NULL, and
    can be sorted: whole numbers without gaps cost nothing, all other keys are fetched once now. The column should have
    an index: rows are read by ranges of the key, `rows_per_block` at a time.

    The types of columns are those of the first rows: whole numbers `int64`, numbers and decimals `float64`, booleans,
    text, bytes, dates and times (in UTC). A value of another type, NULL without a value for it in `nulls`, and rows
    added or removed since then raise a `DataError`; to leave out rows with NULL, write a query. Blocks are kept and
    shuffled as row groups are in `read_parquet`. A driver that does not declare how values are passed needs its
    `paramstyle`.

    An SQLite file at a URL, whose store is opened with `storage_options`, is copied to the local disk by each process
    that reads it; see docs/remote.md. URLs of database servers are for a function that connects.

    >>> import pathlib, sqlite3, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.db"
    >>> with sqlite3.connect(path) as db:
    ...     _ = db.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INT)")
    ...     _ = db.executemany("INSERT INTO people VALUES (?, ?, ?)", [(1, "Ann", 31), (2, "Bo", 4), (4, "Cy", 55)])
    >>> list(read_sql(path, "people", key="id", columns=["name", "age"]))
    [{'name': 'Ann', 'age': 31}, {'name': 'Bo', 'age': 4}, {'name': 'Cy', 'age': 55}]
    >>> read_sql(path, "SELECT id, age * 2 AS twice FROM people WHERE age > 18", key="id")[1]
    {'id': 4, 'twice': 110}
    """
    from penstock.sources.sql.rows import sql_rows

    check_text("read_sql", "relation", relation)
    check_text("read_sql", "key", key)
    columns = None if columns is None else check_names("read_sql", "columns", columns)
    check_count("read_sql", "rows_per_block", rows_per_block, least=1)
    cache_bytes = check_bytes("read_sql", "cache_bytes", cache_bytes)
    if isinstance(connection, str | os.PathLike):
        connection = _database(os.fspath(connection), storage_options)
    else:
        expected = "an SQLite file, or a function that returns a connection"
        check_function(
            "read_sql", "connection", connection, expected, "; each thread and process needs its own connection"
        )
    return reading(sql_rows(connection, relation, key, columns, nulls, paramstyle, rows_per_block, cache_bytes))


def _database(path: str, storage_options: Mapping[str, Any] | None) -> Callable[[], Any]:
    """Return the function that opens an SQLite file, also of a store; refuse the URL of a database server."""
    from penstock.sources.sql.sqlite import Sqlite, remote_sqlite

    scheme = path.partition("://")[0].lower()
    if "://" in path and scheme.partition("+")[0] in SERVERS:
        raise PlanError(
            f"read_sql({scheme}://...): this is the URL of a database server; pass a function that connects to it, "
            "such as lambda: psycopg.connect(...)"
        )
    found, *others = find_files(path.removeprefix("sqlite:///"), "read_sql", "connection", storage_options)
    if others:
        raise PlanError(
            f"read_sql({shown_patterns(path)!r}): matches {1 + len(others)} files ({found}, {others[0]}"
            f"{', ...' if others[1:] else ''}); give one database, read each by itself, and concatenate the datasets"
        )
    return remote_sqlite(found) if isinstance(found, RemoteFile) else Sqlite(os.path.abspath(found))
