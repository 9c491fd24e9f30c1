"""Files written in shards of limited size, which appear under their names all together."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Self

from numpy.typing import NDArray

from penstock.storage.compressing import Writer, open_writer
from penstock.storage.compression import SUFFIXES
from penstock.storage.indexing import IndexKind, index_path, indexes_beside, save_index
from penstock.storage.sidecar import Sidecar, Stamp

_NUMBERS = re.compile(r"-(\d{5,})-of-(\d{5,})")


class Shards:
    """A writer of data that may be too large for one file: `open` returns the file for the next piece.

    Without `max_bytes` there is one file, `path`. With it, a new file begins once one holds that many bytes, counted
    before `compression`, and the names are those of `shard_names`. All files have hidden names until the end of `with`;
    an error leaves no file. An existing file raises a `FileExistsError`, or is replaced with `overwrite`. With
    `max_bytes`, all shards of the path are existing files, of whatever number, since a pattern that matches the new
    ones would match them too; those that are not replaced are deleted. Each file ends with the bytes of `end`.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int | None = None,
        overwrite: bool = False,
        end: bytes = b"",
        compression: str | None = None,
    ) -> None:
        self._path = os.path.expanduser(os.fspath(path))
        if max_bytes is not None and max_bytes < 1:
            raise ValueError(f"max_bytes={max_bytes}: expected at least 1")
        self._max_bytes = max_bytes
        self._overwrite = overwrite
        self._end = end
        self._compression = compression
        self._hidden: list[str] = []
        self._file: IO[bytes] | None = None
        self._writer: Writer | None = None
        self._indexes: dict[int, tuple[IndexKind, Mapping[str, NDArray[Any]]]] = {}
        self.names: list[str] = []
        """The paths of the files, after `with`."""

    def __enter__(self) -> Self:
        folder = os.path.dirname(self._path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        self._check_free([self._path] if self._max_bytes is None else [])
        self._mark = os.urandom(4).hex()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._sync(whole=kind is None)
            if kind is None:
                self._put_in_place()
        finally:
            for hidden in self._hidden:
                if os.path.exists(hidden):
                    os.unlink(hidden)

    @property
    def count(self) -> int:
        """The number of files so far."""
        return len(self._hidden)

    def open(self) -> tuple[Writer, bool]:
        """Return the writer of the file for the next piece, and whether the file is new."""
        if self._writer is not None and (self._max_bytes is None or self._writer.tell() < self._max_bytes):
            return self._writer, False
        self._sync()
        folder, name = os.path.split(self._path)
        self._hidden.append(os.path.join(folder, f".{name}.{self._mark}.{len(self._hidden)}"))
        self._file = open(self._hidden[-1], "xb", buffering=1 << 20)  # noqa: SIM115 - closed by the next, or at the end
        self._writer = open_writer(self._file, self._compression)
        return self._writer, True

    def finish(self) -> None:
        """Write buffered bytes and close the current file: the next piece begins another."""
        self._sync()

    def index(self, shard: int, kind: IndexKind, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Save an index for a shard, once the shard has its final name."""
        self._indexes[shard] = (kind, arrays)

    def _sync(self, *, whole: bool = True) -> None:
        """Close the current file, with its `end` if it is complete."""
        file, writer, self._file, self._writer = self._file, self._writer, None, None
        if file is not None and writer is not None:
            with file:
                if whole:
                    writer.write(self._end)
                    writer.finish()
                    file.flush()
                    os.fsync(file.fileno())

    def _put_in_place(self) -> None:
        self.names = self._final_names()
        self._check_free(self.names)
        for shard, (hidden, final) in enumerate(zip(self._hidden, self.names, strict=True)):
            os.replace(hidden, final)
            if shard in self._indexes:
                kind, arrays = self._indexes[shard]
                save_index(
                    Sidecar(kind.format, dict(kind.parameters), Stamp.of(final), arrays), index_path(final, kind)
                )
        for earlier in set(self._earlier() if self._overwrite else []).difference(self.names):
            for path in (*indexes_beside(earlier), earlier):
                os.unlink(path)

    def _final_names(self) -> list[str]:
        return [self._path][: self.count] if self._max_bytes is None else shard_names(self._path, self.count)

    def _earlier(self) -> list[str]:
        """Return the shards of the path that are there, if this writer makes shards."""
        return [] if self._max_bytes is None else existing_shards(self._path)

    def _check_free(self, names: Sequence[str]) -> None:
        if not self._overwrite:
            for name in names:
                if os.path.lexists(name):
                    raise FileExistsError(f"{name} exists already; remove it, or pass overwrite=True")
            for name in self._earlier():
                raise FileExistsError(shard_exists(name))


def shard_names(path: str, count: int) -> list[str]:
    """Return the names of all shards of a file; an extension for a compression stays at the end.

    >>> shard_names("train.tfrecord.gz", 2)
    ['train-00000-of-00002.tfrecord.gz', 'train-00001-of-00002.tfrecord.gz']
    """
    start, extension = _parts(path)
    return [f"{start}-{number:05d}-of-{count:05d}{extension}" for number in range(count)]


def is_shard_of(name: str, path: str) -> bool:
    """Return whether a name is that of a shard of a file, of whatever number of shards.

    >>> is_shard_of("a-00001-of-00003.tar", "a.tar"), is_shard_of("a-b-00001-of-00003.tar", "a.tar")
    (True, False)
    """
    start, extension = _parts(path)
    if not (name.startswith(start) and name.endswith(extension)):
        return False
    found = _NUMBERS.fullmatch(name, len(start), len(name) - len(extension))
    return found is not None and int(found[1]) < int(found[2])


def existing_shards(path: str) -> list[str]:
    """Return the paths of all shards of a file that are there, sorted; an error of the folder counts as none."""
    folder, own = os.path.split(path)
    before = path[: len(path) - len(own)]  # as `shard_names` has it
    try:
        names = sorted(os.listdir(folder or os.curdir))
    except OSError:
        return []
    return [before + name for name in names if is_shard_of(name, own)]


def shard_exists(name: str) -> str:
    """Return the words of the error for a shard of an earlier run, which may have another number of them."""
    return (
        f"{name} exists already, and a pattern would read the shards of an earlier run together with the new ones; "
        "remove them, or pass overwrite=True"
    )


def _parts(path: str) -> tuple[str, str]:
    """Return the parts of a path before and after the numbers of shards."""
    start, extension = os.path.splitext(path)
    if extension[1:].lower() in SUFFIXES:
        start, inner = os.path.splitext(start)
        extension = inner + extension
    return start, extension
