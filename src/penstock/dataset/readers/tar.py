"""Datasets of the samples of tar archives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from penstock.core.checks import check_flag_or_none
from penstock.core.errors import PlanError
from penstock.dataset.arguments.wrong_names import helpful
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, find_files


@helpful
def read_tar(
    paths: Pattern | Sequence[Pattern],
    *,
    columns: Sequence[str] | Mapping[str, str] | None = None,
    decode: bool | Mapping[str, Any] = False,
    compression: str | None = "auto",
    thread_safe: bool | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset[dict[str, Any]]:
    """Read the samples of WebDataset tar archives, with random access: `{"__key__": str, "jpg": bytes, ...}`.

    Consecutive files with the same name up to the first dot, `dir/0001.jpg` and `dir/0001.cls`, are one sample, with
    the key `dir/0001`. Without `columns`, each sample has an entry for every extension in the archives, and `None`
    where the file is missing. With `columns`, samples have only these extensions, and a missing file raises a
    `DataError` when it is read, unless the extension is written `"txt?"`. `"jpg;png"` takes the first file that
    exists. A dict names the entries: `{"image": "jpg;png", "label": "cls"}`.

    `paths` is a path or a pattern, whose matches are sorted, or a list of them, which keeps its order and duplicates;
    URLs, with `storage_options` for their stores, are in docs/remote.md.

    `decode=True` decodes text (`txt`), numbers (`cls`), `json`, `npy` and `npz`, also when compressed (`json.gz`), and
    leaves other files, such as images, for `ps.image.decode`. A dict maps each extension to its decoder: a function of
    `bytes`, `int`, `float`, `str`, or `True`: `{"cls": int, "json": True}`. Functions are called by several threads;
    `thread_safe` works as in `map`. To continue when a decoder raises, use `map(function, on="cls", on_error=...)`
    after reading, or `ignore_errors()`.

    The first time, each archive is scanned once for the positions of its files, and the index is kept next to it.
    Compressed archives (`.tar.gz`; detected by their first bytes, or named by `compression`) are a stream instead: they
    need `columns`, and a restored iterator reads its current archive again from the beginning. Sparse files raise a
    `DataError`; links, and files without an extension or with a leading dot, are skipped.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.tar"
    >>> samples = [{"__key__": "cat/1", "txt": "a cat", "cls": 0}, {"__key__": "dog/1", "txt": "x", "cls": 1}]
    >>> _ = Dataset.from_source(samples).write_tar(path)
    >>> ds = read_tar(path, decode=True)
    >>> ds[0] == {"__key__": "cat/1", "txt": "a cat", "cls": 0}
    True
    >>> read_tar(path, columns={"label": "cls"}).element_spec
    {'__key__': str, 'label': bytes}
    """
    from penstock.sources.tar.archives import tar_files
    from penstock.sources.tar.decoders import Decoders
    from penstock.sources.tar.samples import Shape, parts_of
    from penstock.sources.tar.stream import TarStream

    decoders = Decoders(decode, check_flag_or_none("read_tar", "thread_safe", thread_safe))
    parts = None if columns is None else parts_of(columns)
    compression = named_compression("read_tar", compression)
    files = find_files(paths, "read_tar", storage_options=storage_options)
    how = compressions_of(files, compression)
    source = tar_files(files, parts, decoders)
    if not any(how):
        return reading(source)
    if parts is None:
        path, found = next((path, found) for path, found in zip(files, how, strict=True) if found)
        raise PlanError(
            f"{source.name}: {path} is compressed ({found}) and therefore read as a stream; name the extensions of its "
            'samples, columns=["jpg", "cls"], with "txt?" for one that some samples lack'
        )
    return Dataset(ReadStream(TarStream(files, how, Shape(parts, decoders), source.name)))
