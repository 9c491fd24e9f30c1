"""CSV files in the forms of `tf.data.experimental`: `CsvDataset` and `make_csv_dataset`."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from penstock.core.checks import check_count, check_flag
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.dataset.readers.tables import read_csv
from penstock.storage.compression import open_decompressed
from penstock.storage.paths import find_files, list_files
from penstock.tf_data import tensors
from penstock.tf_data.constructed import constructed
from penstock.tf_data.dataset import Dataset, made_as, ported
from penstock.tf_data.readers import compression_named, paths_as_text
from penstock.tf_data.signature import numpy_kind

_GUESSED: tuple[Any, ...] = (np.int32, np.int64, np.float32, np.float64)


@frozen()
class Column:
    """The type of a column, `bytes` or a dtype, and the value of an empty field; `None` if a value is required."""

    name: str
    kind: Any
    missing: Any
    na_value: bytes = b""

    def parse(self, field: bytes) -> Any:
        """Return the value of one field; raise a `DataError` if there is none, or it has another type."""
        if field in (b"", self.na_value):
            if self.missing is None:
                raise DataError(f"column {self.name!r}: a field is empty, and the column has no default")
            return self.missing
        if self.kind is bytes:
            return field
        try:
            return np.dtype(self.kind).type(field.decode().strip())
        except (ValueError, OverflowError):
            raise DataError(f"column {self.name!r}: {field!r:.40} is not a {np.dtype(self.kind)}") from None

    def parse_all(self, fields: Any) -> Any:
        """Return the values of many fields, of shape (k,)."""
        made = np.empty(len(fields), object if self.kind is bytes else self.kind)
        made[:] = [self.parse(field) for field in fields]
        return made


@frozen()
class ParseRow:
    """Turn a row of text into a tuple of values."""

    columns: tuple[Column, ...]

    def __call__(self, row: dict[str, bytes]) -> tuple[Any, ...]:
        return tuple(column.parse(row[column.name]) for column in self.columns)


@frozen()
class ParseBatch:
    """Turn a batch of text into arrays by column, with the label taken out if there is one."""

    columns: tuple[Column, ...]
    label: str | None

    def __call__(self, batch: dict[str, Any]) -> Any:
        made = {column.name: column.parse_all(batch[column.name]) for column in self.columns}
        return made if self.label is None else (made, made.pop(self.label))


def _constructor(function: Callable[..., Any]) -> Callable[..., Any]:
    return constructed(function, made_as, paths_as_text)


@_constructor
def CsvDataset(  # noqa: N802, PLR0913, PLR0917 - tf.data's name, and its arguments
    filenames: Any,
    record_defaults: Sequence[Any],
    compression_type: str | None = None,
    buffer_size: int | None = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    exclude_cols: Sequence[int] | None = None,
) -> Dataset[Any]:
    r"""Read the records of CSV files as tuples; each of `record_defaults` is a dtype, or the value of an empty field.

    A dtype makes the field required: an empty one raises a `DataError`. `buffer_size` is ignored. `ps.read_csv` has
    more to offer, and reads a file in one call.

    >>> from penstock import tf_data
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> file.write_text("1,x\n,y\n")
    7
    >>> list(tf_data.experimental.CsvDataset(str(file), [np.int32(7), str]))
    [(np.int32(1), b'x'), (np.int32(7), b'y')]
    """
    call = "CsvDataset"
    files = find_files(filenames, call, "filenames", None)
    quote = '"' if check_flag(call, "use_quote_delim", use_quote_delim) else None
    head = _records(files[0], compression_type, field_delim, quote, 1)
    count = len(head[0]) if head else 0
    names = head[0] if header and head else [str(number) for number in range(count)]
    if select_cols is not None and exclude_cols is not None:
        raise ValueError(f"{call}(): pass select_cols or exclude_cols, not both")
    chosen = range(count) if select_cols is None else [int(number) for number in select_cols]
    chosen = [number for number in chosen if number not in (exclude_cols or ())]
    if len(chosen) != len(record_defaults):
        raise ValueError(
            f"{call}(record_defaults=): {len(record_defaults)} of them, for {len(chosen)} columns of a record"
        )
    columns = tuple(
        _column(names[number], default, na_value) for number, default in zip(chosen, record_defaults, strict=True)
    )
    rows = _rows(files, columns, None if header else names, field_delim, quote, compression_type)
    return ported(rows.map(ParseRow(columns)))


@_constructor
def make_csv_dataset(  # noqa: PLR0913, PLR0917 - tf.data's arguments
    file_pattern: Any,
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset[Any]:
    r"""Read CSV files as batches: dicts of columns, or with `label_name` pairs of such a dict and the label.

    As in `tf.data`, the rows are shuffled and repeated without end unless `shuffle` and `num_epochs` say otherwise, and
    types are those of the first `num_rows_for_inference` rows unless `column_defaults` gives dtypes or values. The
    whole data is shuffled for any `shuffle_buffer_size`. The sizes of buffers, `num_parallel_reads` and `sloppy` are
    ignored: they would not change what is read. Text is `bytes`.

    >>> from penstock import tf_data
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "a.csv"
    >>> file.write_text("age,name,y\n3,Ann,0\n,Bo,1\n")
    25
    >>> ds = tf_data.experimental.make_csv_dataset(str(file), 2, label_name="y", shuffle=False, num_epochs=1)
    >>> list(ds)
    [({'age': array([3, 0], dtype=int32), 'name': array([b'Ann', b'Bo'], dtype=object)}, array([0, 1], dtype=int32))]
    """
    call = "make_csv_dataset"
    files = list_files(file_pattern, call, "file_pattern")
    quote = '"' if check_flag(call, "use_quote_delim", use_quote_delim) else None
    looked_at = check_count(call, "num_rows_for_inference", num_rows_for_inference, least=1)
    first = _records(files[0], compression_type, field_delim, quote, looked_at + 1, encoding)
    if column_names is None and not header:
        raise ValueError(f"{call}(header=False): needs column_names")
    names = list(column_names) if column_names is not None else first[0] if first else []
    chosen = _chosen(call, names, select_columns)
    if label_name is not None and label_name not in chosen:
        raise ValueError(f"{call}(label_name={label_name!r}): expected one of the columns {', '.join(chosen)}")
    if column_defaults is not None and len(column_defaults) != len(chosen):
        raise ValueError(f"{call}(column_defaults=): {len(column_defaults)} of them, for {len(chosen)} columns")
    examples = first[1:] if header else first
    columns = tuple(
        _guessed(name, [row[names.index(name)] for row in examples if len(row) == len(names)], na_value)
        if column_defaults is None
        else _column(name, column_defaults[at], na_value, of_type=True)
        for at, name in enumerate(chosen)
    )
    rows = _rows(
        files, columns, None if header and column_names is None else names, field_delim, quote, compression_type
    )
    if header and column_names is not None:
        rows = rows.skip(1)
    rows = rows.ignore_errors() if ignore_errors else rows
    if check_flag(call, "shuffle", shuffle):
        rows = rows.shuffle(None if rows.cardinality() >= 0 else shuffle_buffer_size, shuffle_seed)
    batches = rows.repeat(num_epochs).batch(batch_size, num_epochs is None)
    return ported(batches.map(ParseBatch(columns, label_name)))


def _rows(files: list[str], columns: Any, names: Any, delimiter: str, quote: str | None, compression: Any) -> Any:
    """Return the rows as dicts of `bytes`."""
    chosen = [column.name for column in columns]
    settings: dict[str, Any] = {} if names is None else {"names": names}
    return read_csv(
        files,
        columns=chosen,
        types=dict.fromkeys(chosen, bytes),
        delimiter=delimiter,
        quote=quote,
        compression=compression_named("read_csv", compression),
        **settings,
    )


def _records(
    path: str, compression: str | None, delimiter: str, quote: str | None, count: int, encoding: str = "utf-8"
) -> list[list[str]]:
    """Return the fields of the first `count` records of a file."""
    quoting = csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL
    with open_decompressed(path, compression_named("read_csv", compression)) as file:
        text = io.TextIOWrapper(file, encoding, newline="")
        return [row for row in islice(csv.reader(text, delimiter=delimiter, quoting=quoting), count) if row]


def _chosen(call: str, names: list[str], selected: Sequence[Any] | None) -> list[str]:
    """Return the names of the selected columns, which are names or positions, in the order of the file."""
    if selected is None:
        return names
    wanted = {names[each] if isinstance(each, int) and each < len(names) else each for each in selected}
    if missing := wanted - set(names):
        raise ValueError(f"{call}(select_columns=): no column {min(map(str, missing))}; there are {', '.join(names)}")
    return [name for name in names if name in wanted]


def _column(name: str, default: Any, na_value: str, *, of_type: bool = False) -> Column:
    """Return a column for a dtype (a required field, or with `of_type` one that may be empty) or a default value."""
    kind = numpy_kind(default)
    if kind is not None:
        missing = (b"" if kind is bytes else np.dtype(kind).type(0)) if of_type else None
        return Column(name, kind, missing, na_value.encode())
    value = tensors.to_numpy(default)
    value = np.ravel(value)[0] if np.ndim(value) else value
    if isinstance(value, str | bytes):
        return Column(name, bytes, value.encode() if isinstance(value, str) else value, na_value.encode())
    if not isinstance(value, np.generic | np.ndarray):
        value = np.float32(value) if isinstance(value, float) else np.int32(value)
    scalar: Any = np.asarray(value)[()]
    return Column(name, scalar.dtype.type, scalar, na_value.encode())


def _guessed(name: str, fields: list[str], na_value: str) -> Column:
    """Return a column of the narrowest type of `tf.data` that all example fields have."""
    given = [field.strip() for field in fields if field not in ("", na_value)]
    kind = next((kind for kind in _GUESSED if given and all(_has_type(field, kind) for field in given)), bytes)
    return Column(name, kind, b"" if kind is bytes else kind(0), na_value.encode())


def _has_type(field: str, kind: Any) -> bool:
    try:
        value: Any = kind(field) if kind in (np.float32, np.float64) else int(field)
    except ValueError:
        return False
    if isinstance(value, int):
        bits = 31 if kind is np.int32 else 63
        return -(1 << bits) <= value < 1 << bits
    return kind is np.float64 or bool(np.isfinite(value)) or field.lower().strip("+-") in ("inf", "nan")
