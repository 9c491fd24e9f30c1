"""Folders in the formats of MosaicML Streaming and LitData, written by hand from the format descriptions."""

from __future__ import annotations

import bz2
import gzip
import json
import struct
from pathlib import Path

import numpy as np

COMPRESSORS = {"gz": gzip.compress, "bz2": bz2.compress}
DICT = "builtins.dict"


def u32(*numbers):
    return struct.pack(f"<{len(numbers)}I", *numbers)


def sized(*values):
    """Return a sample whose columns all store their sizes."""
    return u32(*map(len, values)) + b"".join(values)


def table(samples, lead=b""):
    """A shard: the number of samples, their offsets, perhaps something else, the samples."""
    first = 4 * (len(samples) + 2) + len(lead)
    ends = np.cumsum([first, *map(len, samples)])
    return u32(len(samples), *ends.tolist()) + lead + b"".join(samples)


def mds(folder: Path, columns, samples, per_shard=7, compression=None, **changed):
    """`columns` are (name, encoding, size or None); `samples` are the bytes of each."""
    folder.mkdir(parents=True, exist_ok=True)
    names, encodings, sizes = map(list, zip(*columns, strict=True))
    shards = []
    for number, low in enumerate(range(0, len(samples), per_shard)):
        part = samples[low : low + per_shard]
        data = table(part, b'{"what": "MDS repeats here"}')
        name = f"shard.{number:05}.mds"
        raw, packed = {"basename": name, "bytes": len(data), "hashes": {}}, None
        if compression:
            data = _packed(data, compression.partition(":")[0])
            name += "." + compression.partition(":")[0]
            packed = {"basename": name, "bytes": len(data), "hashes": {}}
        (folder / name).write_bytes(data)
        shards.append(
            {
                "format": "mds", "version": 2, "samples": len(part), "raw_data": raw, "zip_data": packed,
                "compression": compression, "hashes": [], "size_limit": 1 << 26, "column_names": names,
                "column_encodings": encodings, "column_sizes": sizes,
            } | changed
        )  # fmt: skip
    write_index(folder, {"version": 2, "shards": shards})
    return folder


def _packed(data, compression):
    if compression == "zstd":
        import zstandard

        return zstandard.compress(data)
    return COMPRESSORS[compression](data)


def write_index(folder, index):
    (folder / "index.json").write_text(json.dumps(index))


def changed_index(folder, change):
    """Write the index again after `change(index)`."""
    index = json.loads((folder / "index.json").read_text())
    change(index)
    write_index(folder, index)


def simple_mds(folder, count=20, compression=None):
    """`n` is the number of the sample, `s` a text, `v` three numbers."""
    columns = [("n", "int", 8), ("s", "str", None), ("v", "ndarray:int16:3", 6)]
    samples = [
        u32(len(text := f"sample {i} é".encode())) + struct.pack("<q", i) + text + np.full(3, i, "<i2").tobytes()
        for i in range(count)
    ]
    return mds(folder, columns, samples, compression=compression)


def tree(*children, kind=None, keys=None):
    """A node of a nesting as PyTorch writes it."""
    return {"type": kind, "context": None if kind is None else json.dumps(keys), "children_spec": list(children)}


LEAF = tree()


def litdata(folder: Path, formats, samples, nesting=LEAF, per_chunk=7, level=None, **config):
    """Write a LitData folder; `samples` are the bytes of each sample and `level` is the compression level."""
    folder.mkdir(parents=True, exist_ok=True)
    chunks = []
    for number, low in enumerate(range(0, len(samples), per_chunk)):
        part = samples[low : low + per_chunk]
        data, name = table(part), f"chunk-0-{number}.bin"
        size = len(data)
        if level == "chunk":
            data, name = _packed(data, "zstd"), f"chunk-0-{number}.zstd.bin"
        elif level == "sample":
            data = table([_packed(sample, "zstd") for sample in part])
            size = len(data)
        elif level == "batch":
            data = frames(part, 3)
            size = len(data)
        (folder / name).write_bytes(data)
        chunks.append({"filename": name, "chunk_size": len(part), "chunk_bytes": size, "dim": None})
    settings = {
        "compression": "zstd" if level else None,
        "compression_level": None if level == "chunk" else level,
        "data_format": formats,
        "data_spec": json.dumps([1, nesting]),
        "encryption": None,
        "item_loader": "PyTreeLoader",
    }
    write_index(folder, {"config": settings | config, "chunks": chunks})
    return folder


def frames(samples, each):
    """A chunk in zstd frames of `each` samples."""
    parts = [samples[low : low + each] for low in range(0, len(samples), each)]
    packed = [_packed(b"".join(part), "zstd") for part in parts]
    offsets = np.cumsum([0, *map(len, samples)])
    at = 24 + 4 * len(offsets) + 24 * len(parts)
    head = struct.pack("<8sHHIII", b"LDFZ01\0\0", 1, 0, len(samples), each, len(parts)) + u32(*offsets.tolist())
    rows = b""
    for number, (part, data) in enumerate(zip(parts, packed, strict=True)):
        rows += struct.pack("<IIQII", number * each, len(part), at, len(data), sum(map(len, part)))
        at += len(data)
    return head + rows + b"".join(packed)


def simple_litdata(folder, count=20, level=None):
    """Dicts of the number of the sample, and a list of a text and an array."""
    nesting = tree(LEAF, tree(LEAF, LEAF, kind="builtins.list"), kind=DICT, keys=["n", "parts"])
    samples = [
        sized(struct.pack("<q", i), f"sample {i} é".encode(), u32(1, 2, 1, i % 3) + np.full(i % 3, i, "<i2").tobytes())
        for i in range(count)
    ]
    return litdata(folder, ["int", "str", "numpy"], samples, nesting, level=level)


def tokens(folder, chunks, dtype="<i4", number=16):
    """`chunks` are lists of documents, each a list of tokens."""
    folder.mkdir(parents=True, exist_ok=True)
    told = []
    for at, documents in enumerate(chunks):
        data = table([np.array(document, dtype).tobytes() for document in documents])
        (folder / f"chunk-0-{at}.bin").write_bytes(data)
        size = {"chunk_size": len(documents), "chunk_bytes": len(data), "dim": sum(map(len, documents))}
        told.append({"filename": f"chunk-0-{at}.bin", **size})
    config = {
        "compression": None, "data_format": [f"no_header_tensor:{number}"], "data_spec": json.dumps([1, LEAF]),
        "item_loader": "TokensLoader",
    }  # fmt: skip
    write_index(folder, {"config": config, "chunks": told})
    return folder


def arrow_chunks(folder, chunks, batch_rows=3, compression=None):
    """`chunks` are lists of dicts; each is a table at the end of a file."""
    import pyarrow as pa

    folder.mkdir(parents=True, exist_ok=True)
    told = []
    for at, rows in enumerate(chunks):
        sink = pa.BufferOutputStream()
        made = pa.Table.from_pylist(rows)
        with pa.ipc.new_file(sink, made.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
            writer.write_table(made, max_chunksize=batch_rows)
        ipc = sink.getvalue().to_pybytes()
        first = 4 * (len(rows) + 2)
        data = u32(len(rows), *[first] * (len(rows) + 1)) + ipc + u32(len(ipc)) + b"LDARW01\0"
        (folder / f"chunk-0-{at}.bin").write_bytes(data)
        told.append({"filename": f"chunk-0-{at}.bin", "chunk_size": len(rows), "chunk_bytes": len(data), "dim": None})
    config = {"compression": None, "data_format": ["str", "json"], "data_spec": None, "item_loader": "PyTreeLoader"}
    write_index(folder, {"config": config, "chunks": told})
    return folder
