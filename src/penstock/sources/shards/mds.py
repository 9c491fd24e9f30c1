"""MDS, the shards of MosaicML Streaming: `index.json`, and files of samples, each with a table of their offsets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError, PlanError
from penstock.sources.shards import encodings
from penstock.sources.shards.encodings import Encoding, shaped
from penstock.sources.shards.files import PackedShards, PlainShards, ShardFile, has_table, scan_table
from penstock.sources.shards.folder_index import FolderIndex, chosen, read_index
from penstock.sources.shards.samples import Layout, SampleFiles, StoredColumn
from penstock.storage.indexing import IndexKind

MDS = IndexKind("mds", scan_table, has_table)
_CALL = "read_mds"
_VERSION = 2
_COMPRESSIONS = {"gz": "gzip", "zstd": "zstd", "bz2": "bz2"}
_SHAPE_DTYPES = tuple(map(np.dtype, ("|u1", "<u2", "<u4", "<u8")))
_SCALARS = {
    8: "uint8",
    9: "int8",
    16: "uint16",
    17: "int16",
    18: "float16",
    32: "uint32",
    33: "int32",
    34: "float32",
    64: "uint64",
    65: "int64",
    66: "float64",
}  # fmt: skip - by the number that MDS stores in an array without a dtype
_BYTES = ("bytes", "jpeg", "png", "pkl")
_LISTS = {
    "list[jpeg]": encodings.parts("list[jpeg]", lead=4),
    "list[png]": encodings.parts("list[png]", lead=4),
    "list[pil]": encodings.parts("list[pil]", encodings.pixels_of, lead=4),
    "jpeg_array": encodings.parts("jpeg_array"),
    "jpegarray": encodings.parts("jpegarray"),
}
_ENCODINGS = {
    **{name: encodings.as_bytes(name) for name in _BYTES},
    **{name: encodings.fixed(name, name) for name in _SCALARS.values()},
    "str": encodings.text("str"),
    "int": encodings.fixed("int", "<i8"),
    "str_int": encodings.parsed("str_int", int),
    "str_float": encodings.parsed("str_float", float),
    "str_decimal": encodings.text("str_decimal"),
    "json": encodings.json_values("json"),
    "pil": encodings.picture("pil"),
    **_LISTS,
}


def mds_samples(
    folder: str | os.PathLike[str], *, columns: Sequence[str] | None = None, decode: bool = True
) -> SampleFiles:
    """Return the samples of a folder as dicts of their columns."""
    index = read_index(folder, _CALL)
    if (version := index.get("version", int)) != _VERSION:
        raise index.wrong(f"its version is {version}, and only {_VERSION} is supported")
    parts = index.parts("shards")
    if not parts:
        raise index.wrong("it has no shards")
    stored = _columns(parts[0], decode=decode)
    for part in parts[1:]:
        if _columns(part, decode=decode) != stored:
            raise part.wrong("its columns differ from those of the shards before")
    names = [column.name for column in stored]
    layout = Layout(stored, {name: names.index(name) for name in chosen(_CALL, names, columns)})
    shown = f"{_CALL}({os.fspath(folder)!r})"
    shards = [_shard(part) for part in parts]
    packed = [shard.compression is not None for shard in shards]
    if any(packed) and not all(packed):
        raise index.wrong(f"{shards[packed.index(True)].path} is compressed, and others are not; decompress this shard")
    return SampleFiles(PackedShards(shards) if any(packed) else PlainShards(shards, MDS), layout, shown, "mds")


def _shard(part: FolderIndex) -> ShardFile:
    """Return the file of a shard: the uncompressed one if present, else the compressed one."""
    if (kind := part.get("format", str)) != "mds":
        raise part.wrong(f"its format is {kind!r:.20}, and only 'mds' is supported")
    plain, packed = part.part("raw_data"), part.part("zip_data")
    if plain is None:
        raise part.wrong("it has no 'raw_data'")
    samples, nbytes = part.count("samples"), plain.count("bytes")
    if packed is None or plain.has_file("basename"):
        return ShardFile(plain.file("basename"), samples, nbytes)
    given = part.get("compression", str)
    compression = _COMPRESSIONS.get(given.partition(":")[0])
    if compression is None:
        raise PlanError(
            f"{_CALL}: {packed.file('basename')} is compressed with {given!r}; {', '.join(_COMPRESSIONS)} are "
            "supported. Decompress the shards into the same folder, which also gives random access"
        )
    return ShardFile(packed.file("basename"), samples, nbytes, compression)


def _columns(part: FolderIndex, *, decode: bool) -> tuple[StoredColumn, ...]:
    names, kinds, sizes = part.names("column_names"), part.names("column_encodings"), part.get("column_sizes", list)
    if not len(names) == len(kinds) == len(sizes) or len(set(names)) < len(names) or not names:
        raise part.wrong(f"it has {len(names)} names, {len(kinds)} encodings and {len(sizes)} sizes of columns")
    stored: list[StoredColumn] = []
    for name, kind, size in zip(names, kinds, sizes, strict=True):
        if size is not None and (not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 1 << 32):
            raise part.wrong(f"the size of column {name!r} is {size!r:.20}")
        encoding = _encoding(part, name, kind) if decode else encodings.as_bytes(kind)
        if size and encoding.size not in (None, size):
            raise part.wrong(f"column {name!r} has {size} bytes, and {encoding.size} as {kind}")
        stored.append(StoredColumn(name, encoding, size or None))
    return tuple(stored)


def _encoding(part: FolderIndex, column: str, kind: str) -> Encoding:
    name, _, of_array = kind.partition(":")
    try:
        found = array_encoding(kind, of_array) if name == "ndarray" else _ENCODINGS.get(kind)
    except DataError as error:
        raise part.wrong(f"column {column!r}: {error}") from None
    if found is None:
        raise PlanError(
            f"{_CALL}: column {column!r} of {part.path} has the unknown encoding {kind!r:.40}; pass decode=False to "
            "read all values as bytes"
        )
    return found


def array_encoding(name: str, of_array: str) -> Encoding:
    """Return the encoding of arrays with a dtype and a shape, as in `"float32:2,3"`; either may be missing."""
    dtype, _, shape = of_array.partition(":")
    if dtype and dtype not in _SCALARS.values():
        raise DataError(f"{name!r:.40} is not an array of numbers")
    try:
        sides = tuple(map(int, shape.split(","))) if shape else None
    except ValueError:
        sides = (0,)
    if sides is not None and (min(sides) < 1 or max(sides) >= 1 << 32):
        raise DataError(f"{name!r:.40} has no shape")
    if dtype and sides is not None:
        return encodings.fixed(name, dtype, sides)
    return encodings.arrays(name, partial(array_of, dtype=np.dtype(dtype) if dtype else None, shape=sides))


def array_of(data: bytes, dtype: np.dtype[Any] | None, shape: tuple[int, ...] | None) -> NDArray[Any]:
    """Return an array from bytes that begin with its dtype and shape unless these are given."""
    at = 0
    if dtype is None:
        if data[0] not in _SCALARS:
            raise ValueError(f"no dtype has the number {data[0]}")
        dtype, at = np.dtype(_SCALARS[data[0]]), 1
    if shape is None:
        of_shape, sides = _SHAPE_DTYPES[data[at] & 3], data[at] >> 2
        end = at + 1 + sides * of_shape.itemsize
        if end > len(data):
            raise ValueError(f"{len(data)} bytes cannot hold a shape of {sides} sides")
        shape, at = tuple(np.frombuffer(data[at + 1 : end], of_shape).tolist()), end
    return shaped(data, dtype, shape, at)
