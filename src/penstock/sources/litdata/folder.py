"""LitData's optimized folders: `index.json`, and chunks of samples that begin with a table of their offsets."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.errors import DataError, PlanError
from penstock.elements.spec import ArraySpec
from penstock.sources.litdata.arrow import MAGIC, ArrowRows, ends_in_arrow
from penstock.sources.litdata.frames import FramedShards, SampledShards
from penstock.sources.shards import encodings
from penstock.sources.shards.encodings import Encoding, shaped
from penstock.sources.shards.files import PackedShards, Payloads, PlainShards, ShardFile, has_table, scan_table
from penstock.sources.shards.folder_index import FolderIndex, chosen, read_index
from penstock.sources.shards.samples import Layout, SampleFiles, StoredColumn
from penstock.storage.indexing import IndexKind
from penstock.storage.local import is_file

CALL = "read_litdata"
_NUMPY = tuple(
    map(np.dtype, ("|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16", "|b1"))
)  # by LitData's number for each
_TORCH = {
    **dict.fromkeys((0, 1), "<f4"),
    **dict.fromkeys((2, 3), "<f8"),
    **dict.fromkeys((4, 5), "<c8"),
    **dict.fromkeys((6, 7), "<c16"),
    **dict.fromkeys((8, 9), "<f2"),
    11: "|u1",
    12: "|i1",
    **dict.fromkeys((13, 14), "<i2"),
    **dict.fromkeys((15, 16), "<i4"),
    **dict.fromkeys((17, 18), "<i8"),
    19: "|b1",
    20: "<u2",
}  # fmt: skip - bfloat16, 10, is not a dtype of NumPy
_BYTES = (
    "bytes",
    "file",
    "jpeg",
    "image",
    "audio",
    "video",
    "tifffile",
    "nifti",
    "mesh",
    "pdf",
    "graph",
    "pickle",
)  # fmt: skip - bytes as they are, or as in the original file
_TELLING = 3  # chunks
_LEAF = {"type": None, "context": None, "children_spec": []}


def _scan(path: str, seen: Callable[[int], None]) -> Mapping[str, NDArray[Any]]:
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - len(MAGIC), 0))
        if file.read() == MAGIC:
            raise DataError(
                f"{path}, at byte {size - len(MAGIC)}: its samples are an Arrow table, unlike those of other chunks"
            )
    return scan_table(path, seen)


LITDATA = IndexKind("litdata", _scan, has_table)


def litdata_samples(
    folder: str | os.PathLike[str], *, columns: Sequence[str] | None = None, decode: bool = True
) -> SampleFiles | ArrowRows:
    """Return the samples of a folder, nested as they were written; for dicts, only `columns`."""
    index, config, shards = open_folder(folder)
    if (loader := config.get("item_loader", str, "PyTreeLoader")) != "PyTreeLoader":
        hint = "; pass block_size=" if loader == "TokensLoader" else ""
        raise PlanError(f"{CALL}: {index.path} was written for {loader}{hint}")
    shown = f"{CALL}({os.fspath(folder)!r})"
    if _are_arrow(shards):
        if columns is not None:
            raise PlanError(f"{CALL}(columns=): {index.path} has samples in Arrow tables, which are read whole")
        return ArrowRows(shards, shown)
    formats = config.names("data_format")
    nested = nesting(config, len(formats))
    made = [encoding_of(config, name) if decode else encodings.as_bytes(name) for name in formats]
    named = names_of(nested, len(formats))
    if columns is not None:
        if not isinstance(nested, dict):
            raise PlanError(f"{CALL}(columns=): samples are {type(nested).__name__}, not dicts")
        nested = {name: nested[name] for name in chosen(CALL, list(nested), columns)}
    layout = Layout(tuple(StoredColumn(name, encoding) for name, encoding in zip(named, made, strict=True)), nested)
    return SampleFiles(payloads(config, shards), layout, shown, "litdata")


def _are_arrow(shards: list[ShardFile]) -> bool:
    """Return whether the samples are Arrow tables, by any of the first chunks, as one may be damaged."""
    return any(ends_in_arrow(shard.path) for shard in shards[:_TELLING] if is_file(shard.path))


def open_folder(folder: str | os.PathLike[str]) -> tuple[FolderIndex, FolderIndex, list[ShardFile]]:
    """Return the index of a folder, the description of its chunks, and the chunks."""
    index = read_index(folder, CALL)
    config = index.part("config")
    if config is None:
        raise index.wrong("it has no 'config'")
    if config.part("encryption") is not None:
        raise PlanError(f"{CALL}: the chunks are encrypted according to {index.path}; decrypt them first")
    parts = index.parts("chunks")
    return index, config, [ShardFile(p.file("filename"), p.count("chunk_size"), p.count("chunk_bytes")) for p in parts]


def payloads(config: FolderIndex, shards: list[ShardFile]) -> Payloads:
    """Return the reader of the bytes of samples, for any supported compression."""
    compression = config.get("compression", str, None)
    if compression is None:
        return PlainShards(shards, LITDATA)
    if compression.partition(":")[0] != "zstd":
        raise PlanError(f"{CALL}: {config.path} has the compression {compression!r:.20}; only zstd is supported")
    match level := config.get("compression_level", str, "chunk"):
        case "chunk":
            return PackedShards([shard._replace(compression="zstd") for shard in shards])
        case "batch":
            return FramedShards(shards)
        case "sample":
            return SampledShards(shards, LITDATA)
        case _:
            raise config.wrong(f"its 'compression_level' is {level!r:.20}")


def nesting(config: FolderIndex, leaves: int) -> Any:
    """Return the nesting of an element, with the number of the leaf in each place.

    The format is PyTorch's for trees: each node has its type, its keys as JSON, and its children.
    """
    spec = config.get("data_spec", str, None)
    try:
        version, tree = json.loads(spec) if spec is not None else (1, _LEAF)
        numbers = iter(range(leaves))
        nested = _nested(tree, numbers) if version == 1 else None
        if nested is None or next(numbers, None) is not None:
            raise ValueError(f"its version is {version!r:.20}, or it has fewer than {leaves} leaves")
    except (ValueError, TypeError, LookupError, StopIteration, RecursionError, RuntimeError) as error:
        raise config.wrong(f"its 'data_spec' is not supported: {error!s:.200}") from None
    return nested


def _nested(tree: Any, numbers: Any) -> Any:
    children = tree["children_spec"]
    match tree["type"]:
        case None:
            return next(numbers)
        case "builtins.list":
            return [_nested(child, numbers) for child in children]
        case "builtins.tuple":
            return tuple([_nested(child, numbers) for child in children])
        case "builtins.dict" | "collections.OrderedDict":
            keys = json.loads(tree["context"])
            return {key: _nested(child, numbers) for key, child in zip(keys, children, strict=True)}
        case other:
            raise ValueError(f"{other!r:.60} is neither dict, list nor tuple")


def names_of(nested: Any, leaves: int) -> list[str]:
    """Return the name of each leaf in errors: its place in the element."""
    names = ["sample"] * leaves

    def name(part: Any, path: str) -> None:
        if isinstance(part, dict):
            for key, child in part.items():
                name(child, f"{path}.{key}" if path else str(key))
        elif isinstance(part, list | tuple):
            for place, child in enumerate(part):
                name(child, f"{path}[{place}]")
        else:
            names[part] = path or names[part]

    name(nested, "")
    return names


def encoding_of(config: FolderIndex, name: str) -> Encoding:
    """Return the encoding that has this name in `data_format`."""
    kind, _, detail = name.partition(":")
    if kind in _BYTES:
        return encodings.as_bytes(name)
    if kind in ("no_header_numpy", "no_header_tensor"):
        return encodings.arrays(name, partial(_flat, dtype=dtype_of(config, kind, detail)))
    make = _ENCODINGS.get(kind)
    if make is None:
        raise PlanError(
            f"{CALL}: {config.path} has values of the unknown encoding {name!r:.40}; pass decode=False to read all "
            "values as bytes"
        )
    return make(name)


def dtype_of(config: FolderIndex, kind: str, number: str) -> np.dtype[Any]:
    """Return the dtype of arrays from the number in their encoding."""
    try:
        return numbered(kind == "no_header_numpy", int(number))
    except ValueError as error:
        raise config.wrong(f"values are written as {kind}:{number:.20}: {error}") from None


def numbered(of_numpy: bool, number: int) -> np.dtype[Any]:
    """Return the dtype with this number, of arrays or of tensors."""
    if of_numpy and 0 <= number < len(_NUMPY):
        return _NUMPY[number]
    if not of_numpy and number in _TORCH:
        return np.dtype(_TORCH[number])
    raise ValueError(f"number {number} is not a dtype of NumPy")


def array_of_numpy(data: bytes) -> NDArray[Any]:
    """Return an array from bytes that begin with its dtype and shape, in little-endian numbers."""
    return _array(data, "<", of_numpy=True)


def array_of_tensor(data: bytes) -> NDArray[Any]:
    """Return a tensor as an array, from bytes that begin with its dtype and shape, in big-endian numbers."""
    return _array(data, ">", of_numpy=False)


def _array(data: bytes, order: str, *, of_numpy: bool) -> NDArray[Any]:
    number, sides = struct.unpack_from(f"{order}II", data)
    if sides > len(data):
        raise ValueError(f"{len(data)} bytes cannot hold a shape of {sides} sides")
    shape = struct.unpack_from(f"{order}{sides}I", data, 8)
    return shaped(data, numbered(of_numpy, number), shape, 8 + 4 * sides)


def _flat(data: bytes, dtype: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(data, dtype)


def _is_true(data: bytes) -> bool:
    return data[0] != 0


def _json(data: bytes) -> Any:
    if data[:1] not in (b"[", b"{"):
        raise ValueError("it is in LitData's form of nested values; pass decode=False to read all values as bytes")
    return json.loads(data)


_ENCODINGS: Mapping[str, Callable[[str], Encoding]] = {
    "int": lambda name: encodings.fixed(name, "<i8"),
    "float": lambda name: encodings.fixed(name, "<f8"),
    "bool": lambda name: Encoding(name, ArraySpec((), np.dtype(np.bool_)), one=_is_true),
    "str": encodings.text,
    "text": encodings.text,
    "json": lambda name: Encoding(name, None, one=_json, nested=True),
    "pil": encodings.picture,
    "jpeg_array": encodings.parts,
    "numpy": lambda name: encodings.arrays(name, array_of_numpy),
    "tensor": lambda name: encodings.arrays(name, array_of_tensor),
}
