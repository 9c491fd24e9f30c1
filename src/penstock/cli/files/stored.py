"""The storage of a sample in each format that files can be converted to, and reading it back for comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

import penstock as ps
from penstock.cli.files.words import kind_of_bytes
from penstock.core.errors import DataError, ElementError
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.sources.tar import writing as tar
from penstock.sources.tar.samples import KEY
from penstock.sources.tfrecord import writing as tfrecord
from penstock.storage.compressing import WRITTEN, written_compression

_EXTENSIONS = {"JPEG": "jpg", "PNG": "png", "GIF": "gif", "FLAC": "flac"}
_KNOWN = {"jpg", "jpeg", "png", "gif", "webp", "bmp", "ppm", "flac", "wav", "mp3", "npy", "json", "txt", "cls", "cls2"}
_RECORD = "record"
_ROW_GROUP = 10_000  # rows

StoredSample = dict[str, Any]
"""Parts by name: `bytes`, `str`, a number, or an array or a list of these."""

ColumnTypes = dict[str, tuple[str, bool]]
"""For each part, the Arrow type of its values, and whether a sample may have several."""


def sample_of(element: Any) -> StoredSample:
    """Return an element of any reader as a sample; for the bytes of a tf.train.Example, its features."""
    if isinstance(element, bytes):
        return features_of(element) or {_RECORD: element}
    if isinstance(element, dict):
        return {str(name): _plain(str(name), value) for name, value in element.items()}
    return {_RECORD: _plain(_RECORD, element)}


def features_of(record: bytes) -> StoredSample:
    """Return the features of a record that is a tf.train.Example, single values unchanged; else no features.

    >>> features_of(ps.records.encode_example({"name": "a"})), features_of(b"text")
    ({'name': b'a'}, {})
    """
    try:
        return {name: _single(values) for name, values in ps.records.decode_example(record).items()}
    except DataError:
        return {}


def unwrap_example(element: Any) -> Any:
    """Return the features of an element that is a tf.train.Example, and any other element unchanged."""
    return (features_of(element) if isinstance(element, bytes) else None) or element


def _single(values: Any) -> Any:
    return values[0] if len(values) == 1 else values


def _plain(name: str, value: Any) -> Any:
    if isinstance(value, (Ragged, Sparse)) or (isinstance(value, np.ndarray) and value.ndim > 1):
        raise ElementError(f"{name!r} is {type(value).__name__} of several dimensions, which a sample cannot hold")
    return value


@frozen()
class StoredFormat:
    """A format to convert to: how a sample is stored, and how stored samples are written and read again.

    A sample that the format cannot hold unchanged raises an `ElementError` in `store`, which takes the sample, its
    number, the columns, and whether numbers may be rounded. `compressions` are the available ones.
    """

    store: Callable[[StoredSample, int, ColumnTypes, bool], Any]
    write: Callable[[Iterable[Any], str, ColumnTypes, str | None], object]
    read: Callable[[str], Iterable[Any]]
    compressions: Sequence[str] = ()


def _as_record(sample: StoredSample, number: int, columns: ColumnTypes, rounding: bool) -> bytes:
    if sample.keys() == {_RECORD} and isinstance(sample[_RECORD], bytes):
        return sample[_RECORD]
    if not rounding:
        for name, value in sample.items():
            _check_float32(name, value, number)
    return ps.records.encode_example(sample)


def _check_float32(name: str, value: Any, number: int) -> None:
    """Raise an `ElementError` if 32 bits do not hold the numbers exactly."""
    try:
        numbers = np.asarray(value)
    except ValueError:  # not an array, as the encoder reports
        return
    if numbers.dtype.kind != "f" or numbers.dtype.itemsize <= 4:
        return
    with np.errstate(over="ignore"):
        lost = (numbers.astype(np.float32) != numbers) & ~np.isnan(numbers)
    if lost.any():
        raise ElementError(
            f"record {number}: {name!r} has {numbers[lost][0]!s}, and a tf.train.Example holds numbers of 32 bits; "
            "convert to Parquet or tar, or pass --float32 to round them"
        )


def _as_members(sample: StoredSample, number: int, columns: ColumnTypes, rounding: bool) -> dict[str, Any]:
    """Return a sample as the members of a tar file: bytes and text unchanged, all other values as JSON."""
    members: dict[str, Any] = {KEY: _key(sample, number)}
    for name, value in sample.items():
        if name == KEY:
            continue
        if name.startswith("__"):
            raise ElementError(
                f"record {number} has the part {name!r}, and a tar file holds no part that begins with '__'"
            )
        extension, content = _as_member(name.replace("/", "_"), value, number)
        if extension in members:
            raise ElementError(f"two parts of sample {number} would both be called {extension!r} in a tar file")
        members[extension] = content
    return members


def _key(sample: StoredSample, number: int) -> str:
    key = sample.get(KEY, f"{number:09d}")
    if isinstance(key, bytes):
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise ElementError(f"record {number} has the key {key!r}, which is not UTF-8 text") from None
    return str(key)


def _as_member(name: str, value: Any, number: int) -> tuple[str, bytes]:
    last = name.rpartition(".")[2].lower()
    if isinstance(value, bytes):
        extension = _EXTENSIONS.get(kind_of_bytes(value), "")
        return (name if not extension or last in _KNOWN else f"{name}.{extension}"), value
    if isinstance(value, str):
        return name if last in _KNOWN else f"{name}.txt", value.encode()
    listed = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
    try:
        return name if last == "json" else f"{name}.json", json.dumps(listed).encode()
    except TypeError as error:
        raise ElementError(f"record {number}: {name!r} has no place in one member of a tar file ({error})") from None


def same_stored(one: Any, other: Any) -> bool:
    """Return whether a stored value and the value read back are equal, where a NaN equals a NaN.

    >>> same_stored({"x": [1.0, float("nan")]}, {"x": [1.0, float("nan")]}), same_stored({"x": 1}, {"x": 2})
    (True, False)
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_stored(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_stored, one, other))
    return bool(one == other) or (one != one and other != other)  # noqa: PLR0124 - a NaN


def columns_of(samples: Iterable[StoredSample]) -> ColumnTypes:
    """Return the columns that hold these samples.

    >>> columns_of([{"label": 1, "ids": [1, 2]}, {"label": 2, "ids": 7}])
    {'label': ('int64', False), 'ids': ('int64', True)}
    """
    columns: ColumnTypes = {}
    for sample in samples:
        for name, value in sample.items():
            several = _is_several(value)
            kind, before = columns.get(name, ("null", False))
            for each in value if several else (value,):
                kind = _wider(kind, _arrow_type(name, each))
            columns[name] = (kind, several or before)
    return columns


def _is_several(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or getattr(value, "ndim", 0) > 0


def _arrow_type(name: str, value: Any) -> str:
    if isinstance(value, np.generic):
        return str(value.dtype)
    kinds = {bool: "bool", int: "int64", float: "float64", bytes: "binary", str: "string", type(None): "null"}
    if type(value) not in kinds:
        raise ElementError(f"{name!r} is {type(value).__name__}, which a column cannot hold")
    return kinds[type(value)]


def _wider(first: str, second: str) -> str:
    """Return the type that holds both, or the first if there is none: storing then names the sample at fault."""
    if "null" in (first, second):
        return second if first == "null" else first
    return "float64" if {first, second} == {"int64", "float64"} else first


def _as_row(sample: StoredSample, number: int, columns: ColumnTypes, rounding: bool) -> dict[str, Any]:
    """Return a sample as a row; missing values are null, and so left out, or an empty list."""
    row: dict[str, Any] = {name: [] for name, (_, several) in columns.items() if several}
    for name, value in sample.items():
        plain = value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
        if name not in columns or (_is_several(plain) and not columns[name][1]):
            raise ElementError(
                f"record {number} has {'several values of' if name in columns else 'the part'} {name!r}, unlike the "
                "records that the columns were found from"
            )
        if plain is not None:
            row[name] = [plain] if columns[name][1] and not _is_several(plain) else plain
    return row


def _write_parquet(rows: Iterable[Any], path: str, columns: ColumnTypes, compression: str | None) -> None:
    arrow: Any = require("pyarrow", extra="arrow", purpose="writing Parquet")
    parquet: Any = require("pyarrow.parquet", extra="arrow", purpose="writing Parquet")
    fields = []
    for name, (kind, several) in columns.items():
        of_one = arrow.type_for_alias(kind)
        fields.append((name, arrow.list_(of_one) if several else of_one))
    schema = arrow.schema(fields)
    coming = iter(rows)
    with parquet.ParquetWriter(path, schema, compression=compression or "snappy") as file:
        while group := list(islice(coming, _ROW_GROUP)):
            file.write_table(arrow.Table.from_pylist(group, schema=schema))


def _read_parquet(path: str) -> Iterable[Any]:
    parquet: Any = require("pyarrow.parquet", extra="arrow", purpose="reading Parquet")
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches():
            for row in batch.to_pylist():
                yield {name: value for name, value in row.items() if value is not None}


def _write_tfrecord(records: Iterable[Any], path: str, columns: ColumnTypes, compression: str | None) -> None:
    how = written_compression("convert", compression, path)
    tfrecord.write_record_files(records, path, max_bytes=None, overwrite=True, index=True, compression=how)


def _read_tar(path: str) -> Iterable[Any]:
    for sample in ps.read_tar(path):
        yield {extension: content for extension, content in sample.items() if content is not None}


def _write_tar(members: Iterable[Any], path: str, columns: ColumnTypes, compression: str | None) -> None:
    tar.write_archives(members, path, max_bytes=None, overwrite=True, index=True, encoders={})


STORED = {
    "TFRecord": StoredFormat(_as_record, _write_tfrecord, ps.read_tfrecord, WRITTEN),
    "tar": StoredFormat(_as_members, _write_tar, _read_tar),
    "Parquet": StoredFormat(_as_row, _write_parquet, _read_parquet, ("gzip", "zstd", "snappy", "lz4")),
}
"""The formats that files can be converted to."""
