"""Datasets of samples in shards that other libraries wrote."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.core.checks import check_count, check_flag
from penstock.core.errors import PlanError
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.sources.protocol import Source
from penstock.storage.paths import Pattern, list_folders, urls_of


@helpful
def read_mds(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    decode: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Read the samples of folders in MDS, the format of MosaicML Streaming, with random access: dicts of columns.

    A folder has an `index.json` and the shards that the index names. Several folders, or those that match a pattern,
    are read one after another. A folder may be the URL of a prefix, without wildcards; `storage_options` are for its
    store (docs/remote.md). Uncompressed shards are mapped into memory; a compressed shard (zstd, gzip, bzip2) is
    decompressed whole for any of its samples, the most recent ones are kept, and `shuffle()` mixes by shards. Numbers,
    text, arrays (`ndarray` in all its forms), JSON and raw images (`pil`) are decoded, with NumPy alone. `jpeg` and
    `png` are the `bytes` of the file, for `ps.image.decode`. `pkl` gives the bytes of the pickle, because loading a
    pickle runs code. `str_decimal` is a string. `columns` selects columns; without `decode` all values are `bytes`.

    A shard whose size, number of samples or table of offsets contradicts the index raises a `DataError` when it is
    first read; a value that cannot be decoded raises a `DataError` that names shard, sample and column.

    >>> import json, struct, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> samples = [struct.pack("<Iq", len(text), n) + text for n, text in enumerate([b"no", b"yes"])]
    >>> shard = struct.pack("<4I", 2, 16, 16 + 14, 16 + 14 + 15) + b"".join(samples)
    >>> columns = {"column_names": ["n", "text"], "column_encodings": ["int", "str"], "column_sizes": [8, None]}
    >>> file = {"basename": "shard.00000.mds", "bytes": len(shard)}
    >>> index = {"version": 2, "shards": [{"format": "mds", "samples": 2, "raw_data": file, **columns}]}
    >>> _ = (folder / "shard.00000.mds").write_bytes(shard)
    >>> _ = (folder / "index.json").write_text(json.dumps(index))
    >>> read_mds(folder)[1]
    {'n': 1, 'text': 'yes'}
    """
    from penstock.sources.shards.mds import mds_samples

    check_flag("read_mds", "decode", decode)
    return _joined(
        "read_mds", paths, storage_options, lambda folder: mds_samples(folder, columns=columns, decode=decode)
    )


@helpful
def read_litdata(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | None = None,
    block_size: int | None = None,
    decode: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[Any]:
    """Read the samples of folders that LitData has optimized, with random access, nested as they were written.

    A folder has an `index.json` and the chunks that the index names. Several folders, or those that match a pattern,
    are read one after another; URLs are read as by `read_mds`. Chunks are uncompressed, with one or several samples at
    a time in zstd (which are then decompressed together), or compressed as a whole; `shuffle()` mixes by units of
    decompression. Numbers, text, arrays, tensors (as arrays), JSON and raw images (`pil`) are decoded, with NumPy
    alone; encoded images, audio, files and pickles are `bytes`. Without `decode` every leaf is `bytes`. `columns`
    selects entries of samples that are dicts.

    Tokens that were written for LitData's `TokensLoader` are read in blocks of `block_size`; the remainder of a chunk
    is dropped, as LitData does. Samples that LitData stores as an Arrow table, dicts of text, numbers and lists, need
    pyarrow, and are the Python values that were written. Encrypted chunks are refused.

    >>> import json, struct, tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> chunk = struct.pack("<4I", 2, 16, 22, 29) + struct.pack("<I", 2) + b"no" + struct.pack("<I", 3) + b"yes"
    >>> config = {"compression": None, "data_format": ["str"], "data_spec": None, "item_loader": "PyTreeLoader"}
    >>> chunks = [{"filename": "chunk-0-0.bin", "chunk_size": 2, "chunk_bytes": len(chunk), "dim": None}]
    >>> _ = (folder / "chunk-0-0.bin").write_bytes(chunk)
    >>> _ = (folder / "index.json").write_text(json.dumps({"config": config, "chunks": chunks}))
    >>> read_litdata(folder)[1]
    'yes'
    """
    from penstock.sources.litdata.folder import litdata_samples
    from penstock.sources.litdata.tokens import litdata_tokens

    check_flag("read_litdata", "decode", decode)
    if block_size is None:
        return _joined(
            "read_litdata", paths, storage_options, lambda at: litdata_samples(at, columns=columns, decode=decode)
        )
    if columns is not None:
        raise PlanError("read_litdata(columns=): tokens have no columns; omit columns or block_size")
    if not decode:
        raise PlanError("read_litdata(decode=False): tokens are numbers; omit decode or block_size")
    size = check_count("read_litdata", "block_size", block_size, least=1)
    return _joined("read_litdata", paths, storage_options, lambda folder: litdata_tokens(folder, size))


def _joined(
    call: str,
    paths: Pattern | Sequence[Pattern],
    storage_options: Mapping[str, Any] | None,
    source_of: Callable[[str], Source],
) -> Dataset[Any]:
    """Return the samples of all folders, one after another."""
    folders: Sequence[str]
    if (urls := urls_of(call, paths, storage_options)) is None:
        folders = list_folders(paths, call)
    else:
        from penstock.storage.remote.folder import RemoteFolder

        folders = [RemoteFolder.of_prefix(url, storage_options) for url in urls]
    first, *others = (reading(source_of(folder)) for folder in folders)
    for other in others:
        first = first.concatenate(other)
    return first
