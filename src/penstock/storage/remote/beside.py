"""Indexes of remote objects beside the objects, in a hidden folder of the same store, for all who read them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache

from penstock.core.digest import digest
from penstock.storage.paths import INDEX_FOLDER
from penstock.storage.remote.fetcher import fetcher
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile
from penstock.storage.remote.retrying import answer_of
from penstock.storage.remote.stores import scheme_of, store_of, url_of

_WRITTEN = {"s3", "gs", "az"}
_AT_ONCE = 8 << 20  # bytes of indexes fetched together


def fetch_indexes(wanted: Iterable[tuple[RemoteFile, str, str]]) -> None:
    """Copy the indexes of objects from beside them into local files: `wanted` are objects, names and local paths.

    The folder of indexes is listed once. Whatever fails, such as a listing that is not allowed, leaves an index out.
    """
    batch: list[tuple[RemoteFile, str]] = []
    for file, name, path in wanted:
        found = _beside(file)
        known = None if found is None else found.objects.get(_key_of(file, name))
        if known is not None:
            batch.append((RemoteFile(url_of(file.access, known.key), file.access, known), path))
            if sum(each.size for each, _ in batch) > _AT_ONCE:
                _copy(batch)
                batch = []
    _copy(batch)


def put_index(file: RemoteFile, name: str, path: str) -> None:
    """Copy the index of an object from a local file to beside the object, unless that failed in this folder before."""
    folder = _beside(file)
    if folder is None or not folder.is_writable:
        return
    key = _key_of(file, name)
    try:
        with suppress(FileExistsError):  # made meanwhile by another process, from the same content
            tag = answer_of(
                lambda: store_of(file.access).write(key, path, create=key not in folder.objects),
                url_of(file.access, key),
                file.access,
            )
            folder.objects[key] = ObjectInfo(key, os.path.getsize(path), tag)
    except Exception:  # noqa: BLE001 - of any library: the store may be read-only, and the local index is there
        folder.is_writable = False


class _Folder:
    """A folder of indexes: the objects there by key, and whether this process may write there, as far as it knows."""

    def __init__(self, access: Access, prefix: str) -> None:
        self.is_writable = not _is_anonymous(access)
        self.objects: dict[str, ObjectInfo] = {}
        with suppress(Exception):  # a store that does not list has none
            listed = answer_of(lambda: list(store_of(access).list(prefix)), url_of(access, prefix), access)
            self.objects = {each.key: each for each in listed}


def _is_anonymous(access: Access) -> bool:
    options = access.options
    return bool(options.get("anon") or options.get("skip_signature")) or options.get("token") == "anon"


@lru_cache(maxsize=64)
def _folder(access: Access, prefix: str, process: int) -> _Folder:
    return _Folder(access, prefix)


def _beside(file: RemoteFile) -> _Folder | None:
    """Return the folder for the index of an object; `None` if there is none in such a store, or none is wanted."""
    if file.tag is None or scheme_of(file.access.root) not in _WRITTEN:
        return None
    if not file.access.options.get("index_beside", True):
        return None
    return _folder(file.access, _key_of(file, "").rpartition("/")[0], os.getpid())


def _key_of(file: RemoteFile, name: str) -> str:
    """Return the key of an index: another one for each content, which the tag and the size tell apart."""
    folder = file.key.rpartition("/")[0]
    content = digest(f"{file.size}\0{file.tag}".encode("utf-8", "surrogateescape"), size=8)
    return f"{folder}/{INDEX_FOLDER}/{content}-{name}".lstrip("/")


def _copy(batch: Sequence[tuple[RemoteFile, str]]) -> None:
    if not batch:
        return
    with suppress(Exception):  # an index that cannot be read is made
        contents = fetcher().read([(file, 0, file.size) for file, _ in batch])
        for content, (_, path) in zip(contents, batch, strict=True):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            part = f"{path}.{os.urandom(4).hex()}.part"
            with open(part, "xb") as made:
                made.write(content)
            os.replace(part, path)
