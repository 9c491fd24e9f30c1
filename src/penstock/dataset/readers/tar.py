"""Datasets of the samples of tar archives, and archives of the elements of datasets."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from penstock.core.checks import check_count, check_flag, check_flag_or_none, check_mapping, check_path
from penstock.core.errors import PlanError
from penstock.dataset.dataset import Dataset
from penstock.dataset.methods.read import reading
from penstock.ops.read.stream import ReadStream
from penstock.storage.compression import compressions_of, named_compression
from penstock.storage.paths import Pattern, list_files


def read_tar(
    paths: Pattern | Sequence[Pattern],
    *,
    extensions: Sequence[str] | Mapping[str, str] | None = None,
    decode: bool | Mapping[str, Any] = False,
    compression: str | None = "auto",
    thread_safe: bool | None = None,
) -> Dataset[dict[str, Any]]:
    """Read the samples of WebDataset tar archives, with random access: `{"__key__": str, "jpg": bytes, ...}`.

    Consecutive files with the same name up to the first dot, `dir/0001.jpg` and `dir/0001.cls`, are one sample, with
    the key `dir/0001`. Without `extensions`, each sample has an entry for every extension in the archives, and `None`
    where the file is missing. With `extensions`, samples have only these, and a missing file raises a `DataError` when
    it is read, unless the extension is written `"txt?"`; `"jpg;png"` takes the first that exists, and a dict names the
    entries: `{"image": "jpg;png", "label": "cls"}`.

    `decode=True` decodes text (`txt`), numbers (`cls`), `json`, `npy` and `npz`, also when compressed (`json.gz`), and
    leaves other files, such as images, for `ps.image.decode`. A dict maps each extension to its decoder: a function of
    `bytes`, `int`, `float`, `str`, or `True`: `{"cls": int, "json": True}`. Functions are called by several threads;
    `thread_safe` works as in `map`.

    The first time, each archive is scanned once for the positions of its files, and the index is kept next to it.
    Compressed archives (`.tar.gz`; detected by their first bytes, or named by `compression`) are a stream instead: they
    need `extensions`, and a restored iterator reads its current archive again from the beginning. Sparse files are
    refused; links, and files without an extension or with a leading dot, are skipped.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/a.tar"
    >>> _ = write_tar(
    ...     [{"__key__": "cat/1", "txt": "a cat", "cls": 0}, {"__key__": "dog/1", "txt": "x", "cls": 1}], path
    ... )
    >>> ds = read_tar(path, decode=True)
    >>> ds[0] == {"__key__": "cat/1", "txt": "a cat", "cls": 0}
    True
    >>> read_tar(path, extensions={"label": "cls"}).element_spec
    {'__key__': str, 'label': bytes}
    """
    from penstock.sources.tar.archives import tar_files
    from penstock.sources.tar.decoders import Decoders
    from penstock.sources.tar.samples import Shape, parts_of
    from penstock.sources.tar.stream import TarStream

    decoders = Decoders(decode, check_flag_or_none("read_tar", "thread_safe", thread_safe))
    parts = None if extensions is None else parts_of(extensions)
    compression = named_compression("read_tar", compression)
    files = list_files(paths, "read_tar")
    how = compressions_of(files, compression)
    source = tar_files(files, parts, decoders)
    if not any(how):
        return reading(source)
    if parts is None:
        path, found = next((path, found) for path, found in zip(files, how, strict=True) if found)
        raise PlanError(
            f"{source.name}: {path} is compressed ({found}) and therefore read as a stream; name the extensions of its "
            'samples, extensions=["jpg", "cls"], with "txt?" for one that some samples lack'
        )
    return Dataset(ReadStream(TarStream(files, how, Shape(parts, decoders), source.name)))


def write_tar(
    samples: Iterable[Mapping[str, Any]],
    path: str | os.PathLike[str],
    *,
    max_bytes: int | None = None,
    overwrite: bool = False,
    index: bool = True,
    encoders: Mapping[str, Callable[[Any], Any]] | None = None,
) -> list[str]:
    """Write samples (a dataset or any iterable of dicts) into tar archives, and return their paths, in order.

    `"__key__"` is the name of a sample, and the other keys are extensions: `{"__key__": "cat/1", "jpg": b"...", "cls":
    3}` becomes the files `cat/1.jpg` and `cat/1.cls`. Without `"__key__"`, samples are numbered. `bytes` are written
    unchanged, `str` as UTF-8, numbers in digits, `json` as JSON, arrays as `npy`; `encoders` are functions by extension
    that return `bytes`. `None` values are left out.

    The result is one archive, or with `max_bytes` several, `name-00000-of-00012.tar`, each closed once it holds that
    many bytes. The archives appear under their names when all are complete; after an error none is left. The same
    samples give the same bytes: files have no time or owner, and always mode 0644. The `index` that `read_tar` uses is
    written with the archives.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> names = write_tar(Dataset.range(4).map(lambda x: {"cls": x}), folder + "/x.tar", max_bytes=2000)
    >>> [name.removeprefix(folder) for name in names]
    ['/x-00000-of-00002.tar', '/x-00001-of-00002.tar']
    """
    from penstock.sources.tar.writing import write

    check_flag("write_tar", "overwrite", overwrite)
    check_flag("write_tar", "index", index)
    most = None if max_bytes is None else check_count("write_tar", "max_bytes", max_bytes, least=1)
    path = check_path("write_tar", "path", path)
    given = {} if encoders is None else check_mapping("write_tar", "encoders", encoders)
    return write(samples, path, max_bytes=most, overwrite=overwrite, index=index, encoders=given)
