"""Datasets of tables: Parquet, Arrow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock.core.checks import check_count
from penstock.dataset.dataset import Dataset
from penstock.dataset.read import reading
from penstock.sources.arrow_tables import Nulls
from penstock.sources.blocked import CACHE_BYTES
from penstock.storage.paths import Pattern, list_files


def read_parquet(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    filters: Any = None,
    nulls: Nulls = "raise",
    cache_bytes: int = CACHE_BYTES,
) -> Dataset[dict[str, Any]]:
    """The rows of Parquet files as dicts, at random: those that match one or several glob patterns, in sorted order.

    Numbers and booleans are scalars of their type, dates and times `datetime64` or `timedelta64` (in UTC, where they
    have a time zone), decimals `float64`, text `str`, binary `bytes`. Structs are dicts, lists arrays, lists of lists
    `Ragged`, lists of structs and maps dicts of arrays. Only `columns` are read.

    `filters` are `[(column, operator, value), ...]`, all of which must hold, a list of such lists of which one must, or
    an expression of `pyarrow.compute`. Row groups that their statistics rule out are never read; the rows of others are
    found now, by reading the columns that the filters name once. So the dataset has a `len`, and any row at random.

    A missing value is a `DataError` when it is met. `nulls` may have a value for each column that stands for it (the
    path of a field of a struct is `"person.age"`; a missing list is empty), or be `"drop"`: rows with one are left out,
    which reads the columns once now.

    Row groups are decoded whole. `cache_bytes` of those used last are kept, and `shuffle()` goes by as many row groups
    as half of that holds. Files whose columns differ, and files that cannot be read, are a `DataError`. Needs pyarrow.

    >>> import pathlib, pyarrow, pyarrow.parquet, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.parquet"
    >>> people = {"age": [31, 4, 55], "name": ["Ann", "Bo", "Cy"]}
    >>> pyarrow.parquet.write_table(pyarrow.table(people), file)
    >>> list(read_parquet(file, filters=[("age", ">", 18)]))
    [{'age': 31, 'name': 'Ann'}, {'age': 55, 'name': 'Cy'}]
    """
    from penstock.sources.parquet import parquet_files

    check_count("read_parquet", "cache_bytes", cache_bytes, least=1)
    return reading(parquet_files(list_files(paths), columns, filters, nulls, cache_bytes))


def read_arrow(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    nulls: Nulls = "raise",
    cache_bytes: int = CACHE_BYTES,
) -> Dataset[dict[str, Any]]:
    """The rows of Arrow IPC files or streams, and of Feather files, as dicts, at random.

    Types are as in `read_parquet`. Files that are not compressed are mapped into memory: columns of numbers are views of it, nothing is decoded, and a
    shuffle is over all rows. Batches of compressed files are decompressed whole, and are kept and shuffled as row
    groups are in `read_parquet`. A compressed stream is decompressed once now, to find its batches; a stream with
    dictionaries cannot be read at random, and is a `DataError`.

    `columns` and `nulls` are those of `read_parquet`. Files whose columns differ are a `DataError`. A file that is cut
    short while it is read is one too, but keep none of its views for longer than that. Needs pyarrow.

    >>> import pathlib, pyarrow.feather, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "people.arrow"
    >>> people = pyarrow.table({"age": [31, 4], "name": ["Ann", "Bo"]})
    >>> pyarrow.feather.write_feather(people, file, compression="uncompressed")
    >>> read_arrow(file)[1]
    {'age': 4, 'name': 'Bo'}
    """
    from penstock.sources.arrow_files import arrow_files

    check_count("read_arrow", "cache_bytes", cache_bytes, least=1)
    return reading(arrow_files(list_files(paths), columns, nulls, cache_bytes))
