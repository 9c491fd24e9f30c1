"""The elements of one epoch in files of several formats."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from penstock import plan as plans
from penstock import sources
from penstock.core.checks import check_flag, check_mapping, check_path, is_one_of
from penstock.core.contexts import contextmanager
from penstock.core.errors import PlanError
from penstock.core.sizes import check_bytes
from penstock.dataset.handle import T_co
from penstock.dataset.iterate import Iterate
from penstock.plan.types import INFINITE

if TYPE_CHECKING:
    from penstock.dataset.iterator import Iterator

_WRITERS = {
    "tfrecord": "write_tfrecord", "tfrecords": "write_tfrecord", "tfrec": "write_tfrecord", "tar": "write_tar",
    "parquet": "write_parquet", "pq": "write_parquet",
}  # fmt: skip
_UNWRITTEN = {
    "arrow", "feather", "ipc", "npy", "npz", "jsonl", "ndjson", "json", "csv", "tsv", "h5", "hdf5", "zip", "tgz",
}  # fmt: skip
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
PARQUET_COMPRESSIONS = ("snappy", "zstd", "gzip", "lz4")


class Write(Iterate[T_co]):
    """`save`, `write_tfrecord`, `write_tar` and `write_parquet`."""

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        """Write the elements of one epoch into a new folder, from which `Dataset.load` maps them into memory.

        All elements must have the same structure of dicts (with text keys), tuples and lists. Its leaves are text,
        bytes, or numbers and arrays of one dtype, whose shapes may differ. Apply random operations, and batch text,
        after loading.

        The folder appears under its name once it is complete. An existing folder raises a `FileExistsError`; with
        `overwrite`, an existing saved dataset is replaced, and other folders still raise it. At a URL, whose store is
        opened with `storage_options`, the dataset can be loaded once all files are sent, and rows of one that it
        replaces raise an error from then on.

        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "squares"
        >>> Dataset.range(5).map(lambda x: {"x": x, "square": x * x}).save(folder)
        >>> Dataset.load(folder)[3]
        {'x': 3, 'square': 9}
        """
        self._check_ends("save")
        from penstock.storage.paths import urls_of  # with the writers, not with every import

        folder = check_path("save", "path", path)
        settings: Any = {
            "overwrite": check_flag("save", "overwrite", overwrite),
            "fingerprint": plans.fingerprint.fingerprint(self._plan),
        }
        is_local = urls_of("save", folder, storage_options, "path") is None
        with self.iterator() as it, _named("save", folder):
            if is_local:
                sources.saved.writing.save(it, folder, **settings)
            else:
                sources.saved.remote_writing.save_to_url(it, folder, storage_options, **settings)

    def write_tfrecord(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int | str | None = None,
        overwrite: bool = False,
        index: bool = True,
        compression: str | None = "auto",
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write the elements of one epoch, which must be `bytes`, into TFRecord files, and return the paths in order.

        The result is one file, or with `max_bytes` several, `name-00000-of-00012.tfrecord`, each closed once it holds
        that many bytes. The files appear under their names when all are complete; an error leaves no file. An existing
        file raises a `FileExistsError`, and so do shards of an earlier run that wrote another number of them: a pattern
        would read both. With `overwrite` they are replaced or, once the new ones are complete, deleted. The `index`
        that `read_tfrecord` uses is written with the files.

        `compression` is `"zstd"`, `"gzip"`, `"zlib"` or `None`; `"auto"` chooses by the extension: `.zst`, `.gz`, or no
        compression. zstd compresses records by the megabyte, with a table of the frames, so the files keep random
        access, and any other reader of zstd can read them. gzip and zlib, which TensorFlow reads, can only be read in
        order. `max_bytes` counts bytes before compression; the same records give the same files, byte for byte.

        To a URL, whose store is opened with `storage_options`, files are sent once all are complete, without an index;
        see docs/remote.md.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> names = Dataset.range(4).map(lambda x: bytes(10)).write_tfrecord(folder + "/x.tfrecord", max_bytes=50)
        >>> [name.removeprefix(folder) for name in names]
        ['/x-00000-of-00002.tfrecord', '/x-00001-of-00002.tfrecord']
        """
        from penstock.sources.tfrecord.writing import write_record_files
        from penstock.storage.compressing import written_compression

        call = "write_tfrecord"
        self._check_ends(call)
        path = _named_path(call, path)
        how = written_compression(call, compression, path)
        settings = _shared(call, max_bytes, overwrite) | {"index": check_flag(call, "index", index)}
        with self.iterator() as it:
            return _written(
                lambda to, **more: write_record_files(it, to, compression=how, **settings | more),
                call, path, storage_options, settings, index=False,
            )  # fmt: skip

    def write_tar(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int | str | None = None,
        overwrite: bool = False,
        index: bool = True,
        encoders: Mapping[str, Callable[[Any], Any]] | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write the elements of one epoch, which must be dicts, into tar archives, and return the paths in order.

        `"__key__"` is the name of a sample, and the other keys are extensions: an element
        `{"__key__": "cat/1", "jpg": b"...", "cls": 3}` becomes the files `cat/1.jpg` and `cat/1.cls`. Without
        `"__key__"`, samples are numbered. `bytes` are written unchanged, `str` as UTF-8, numbers as digits, `json` as
        JSON, arrays as `npy`. `encoders` maps extensions to functions that return `bytes`. Values of `None` are left
        out.

        `max_bytes`, `overwrite`, `index` and URLs work as in `write_tfrecord`. The same samples give the same
        archives, byte for byte: members have mode 0644, and no time or owner.

        >>> import tempfile
        >>> folder = tempfile.mkdtemp()
        >>> names = Dataset.range(4).map(lambda x: {"cls": x}).write_tar(folder + "/x.tar", max_bytes=2000)
        >>> [name.removeprefix(folder) for name in names]
        ['/x-00000-of-00002.tar', '/x-00001-of-00002.tar']
        """
        from penstock.sources.tar.writing import write_archives

        call = "write_tar"
        self._check_ends(call)
        path = _named_path(call, path)
        given = {} if encoders is None else check_mapping(call, "encoders", encoders)
        settings = _shared(call, max_bytes, overwrite) | {"index": check_flag(call, "index", index)}
        with self.iterator() as it:
            elements = cast("Iterator[Any]", it)
            return _written(
                lambda to, **more: write_archives(elements, to, encoders=given, **settings | more),
                call, path, storage_options, settings, index=False,
            )  # fmt: skip

    def write_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int | str | None = None,
        overwrite: bool = False,
        compression: Literal["snappy", "zstd", "gzip", "lz4"] | None = "snappy",
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write the elements of one epoch, which must be dicts, into Parquet files, and return the paths in order.

        Numbers keep their dtype, text and bytes become columns of the same type, arrays and `Ragged` become lists, and
        dicts become structs. All elements must have the columns and types of the first row group; any other raises an
        `ElementError`. Row groups end at 10,000 rows or 64 MiB.

        `max_bytes`, `overwrite` and URLs work as in `write_tfrecord`, but bytes are counted as written to the file, and
        files are closed only between row groups. Needs pyarrow.

        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/x.parquet"
        >>> rows = Dataset.range(3).map(lambda x: {"n": x, "text": "ab" * x})
        >>> rows.write_parquet(path) == [path]
        True
        >>> ps.read_parquet(path, columns=["text"])[1]
        {'text': 'ab'}
        """
        from penstock.sources.arrow.writing import write_parquet_files

        call = "write_parquet"
        self._check_ends(call)
        path = _named_path(call, path)
        if not is_one_of(compression, None, *PARQUET_COMPRESSIONS):
            raise ValueError(
                f"{call}(compression={compression!r:.80}): expected {', '.join(PARQUET_COMPRESSIONS)} or None"
            )
        settings = _shared(call, max_bytes, overwrite)
        with self.iterator() as it:
            return _written(
                lambda to, **more: write_parquet_files(it, to, compression=compression, **settings | more),
                call, path, storage_options, settings,
            )  # fmt: skip

    def _check_ends(self, call: str) -> None:
        if self._plan.length == INFINITE:
            raise PlanError(f"{call}(): this dataset never ends; take() a part of it")


def _named_path(call: str, path: Any) -> str:
    """Return the checked path of a writer; refuse a name of another format, or of a compression that is not made."""
    from penstock.storage.compression import SUFFIXES  # with the writers, not with every import
    from penstock.storage.remote.file import is_url, path_of_url, shown_url

    path = check_path(call, "path", path)
    shown = f"{call}(path={shown_url(path) if is_url(path) else path!r:.200})"
    start, extension = os.path.splitext(path_of_url(path))
    packed = SUFFIXES.get(extension[1:].lower())
    if packed is not None and call != "write_tfrecord":
        inside = "compression= compresses the columns" if call == "write_parquet" else "compress the members"
        raise PlanError(
            f"{shown}: a name in {extension} is for files compressed by {packed} as a whole, which {call} does not "
            f"write; omit {extension}, and {inside} instead"
        )
    kind = (os.path.splitext(start)[1] if packed is not None else extension)[1:].lower()
    writer = _WRITERS.get(kind)
    if kind in _UNWRITTEN or writer not in (None, call):
        wanted = next(each for each, known in _WRITERS.items() if known == call)
        cure = "" if writer is None else f", or call {writer}"
        raise PlanError(f"{shown}: a name in .{kind} is for files of another format; end it in .{wanted}{cure}")
    return path


def _shared(call: str, max_bytes: Any, overwrite: Any) -> dict[str, Any]:
    """Return the checked arguments that all writers of files have."""
    most = None if max_bytes is None else check_bytes(call, "max_bytes", max_bytes)
    return {"max_bytes": most, "overwrite": check_flag(call, "overwrite", overwrite)}


def _written(
    write: Callable[..., list[str]],
    call: str,
    path: str,
    storage_options: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    **remotely: Any,
) -> list[str]:
    """Return the names of the files that `write` writes, to a local path or to a URL, there with other settings."""
    from penstock.storage.paths import urls_of  # with the writers, not with every import

    is_local = urls_of(call, path, storage_options, "path") is None
    if is_local:
        with _named(call, path):
            return write(path)
    from penstock.storage.remote.writing import write_to_url

    return write_to_url(
        lambda to: write(to, **remotely),
        path,
        storage_options,
        in_shards=settings["max_bytes"] is not None,
        overwrite=settings["overwrite"],
    )


@contextmanager
def _named(call: str, path: str) -> Generator[None]:
    """Add the call to an error about a lack of room, which names no file."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_ROOM:
            error.add_note(f"{call}({path!r}) has written nothing: make room there, or pass another path")
        raise
