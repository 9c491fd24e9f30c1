"""Indexes of remote objects: made from a local copy, kept beside the data or only in the cache folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from penstock.core.digest import digest
from penstock.core.errors import DataError
from penstock.storage.remote.beside import fetch_indexes, put_index
from penstock.storage.remote.disk import disk_cache_of, index_folder
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.opened import local_copy
from penstock.storage.sidecar import Sidecar, Stamp

if TYPE_CHECKING:
    from penstock.storage.indexing import IndexKind


def remote_index_path(file: RemoteFile, kind: IndexKind) -> str:
    """Return the path of the index of an object: another one for each content of it."""
    name = digest(file.identity.encode("utf-8", "surrogateescape"), size=8)
    return os.path.join(index_folder(file.access.options), f"{name}-{kind.named(_base_of(file))}")


def _base_of(file: RemoteFile) -> str:
    return os.path.basename(file.rstrip("/")).partition("?")[0][-80:] or "object"


def fetch_remote(files: Sequence[RemoteFile], kind: IndexKind) -> None:
    """Look for the indexes of these objects beside them, unless there are local ones."""
    wanted = [(file, kind.named(_base_of(file)), remote_index_path(file, kind)) for file in files if file.tag]
    missing = [each for each in wanted if not os.path.exists(each[2])]
    if missing:
        fetch_indexes(missing)
        _count_again(files)


def _count_again(files: Sequence[RemoteFile]) -> None:
    """Let the caches of these objects count the indexes that were written just now."""
    for cache in {disk_cache_of(file) for file in files}:
        if cache is not None:
            cache.look_again()


def load_remote(file: RemoteFile, kind: IndexKind) -> Sidecar | None:
    """Return the kept index of an object, or `None` if there is none that is sound."""
    if file.tag is None:  # nothing tells this content from another
        return None
    try:
        sidecar = Sidecar.load(remote_index_path(file, kind))
    except (OSError, DataError):  # missing or damaged: made again and replaced
        return None
    same = sidecar.format == kind.format and dict(sidecar.parameters) == dict(kind.parameters)
    sound = same and sidecar.stamp.size == file.size and kind.is_sound(sidecar.arrays, file.size)
    return sidecar if sound else None


def make_remote(file: RemoteFile, kind: IndexKind, seen: Callable[[int], None], *, save: bool) -> Sidecar:
    """Return the index of an object, made now; errors name the object instead of its copy."""
    with local_copy(file, seen) as path:
        stamp = Stamp.of(path)
        stamp = Stamp(stamp.size, 0, stamp.digest)
        try:
            arrays = kind.scan(path, lambda position: None)
        except DataError as error:
            error.args = (str(error).replace(path, file),)
            raise
    sidecar = Sidecar(kind.format, dict(kind.parameters), stamp, arrays)
    if not save or file.tag is None:
        return sidecar
    place = remote_index_path(file, kind)
    with suppress(OSError):  # a read-only folder, a full disk: the index lives as long as the process
        os.makedirs(os.path.dirname(place), exist_ok=True)
        sidecar.save(place)
        _count_again([file])
        put_index(file, kind.named(_base_of(file)), place)
        return Sidecar.load(place)  # mapped, so that the index takes no memory
    return sidecar
