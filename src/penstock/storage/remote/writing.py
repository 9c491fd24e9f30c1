"""Files written to URLs: complete on the local disk first, then sent, each visible once the store has all of it."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from penstock.core.contexts import contextmanager
from penstock.core.errors import PlanError
from penstock.storage.remote.disk import cache_root
from penstock.storage.remote.file import Access, shown_url
from penstock.storage.remote.retrying import answer_of
from penstock.storage.remote.stores import ObjectInfo, ObjectStore, scheme_of, split_url, store_of, url_of
from penstock.storage.shards import is_shard_of, shard_exists
from penstock.storage.temporary import LockedFolder

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_COMPARED = 8 << 20  # bytes at a time

UNSENT = "penstock-unsent-"
"""The beginning of the names of folders with files that are not sent yet."""


@dataclass
class SentObjects:
    """The tags of the objects that a store has confirmed, by their keys, and the key of one that it may have."""

    tags: dict[str, str | None] = field(default_factory=dict[str, "str | None"])
    unconfirmed: str | None = None


def write_to_url(
    write: Callable[[str], list[str]],
    url: str,
    options: Mapping[str, Any] | None,
    *,
    in_shards: bool,
    overwrite: bool,
) -> list[str]:
    """Call `write` with a local path, send the files that it returns, and return their URLs.

    No object is sent before all files are complete. An existing object raises a `FileExistsError`, or is replaced with
    `overwrite`: if not `in_shards`, that of the URL alone. `in_shards`, all shards of the URL are existing objects, of
    whatever number, and those that are not replaced are deleted in the end. If sending fails or is interrupted, the
    objects that this call created are deleted, but none that may have replaced another, and none that has another tag
    by then: it is another writer's. None is deleted once the object of the URL is replaced, which comes last, or if the
    store did not say whether it has the last one.
    """
    access, key = split_url(url, options)
    prefix, _, name = key.rpartition("/")
    if not name:
        if urlsplit(url).query:
            raise PlanError(
                f"{shown_url(url)}: files cannot be written to signed URLs; give the URL of the store, and keys"
            )
        raise PlanError(f"{shown_url(url)}: expected the name of a file after the bucket or folder")
    store = store_of(access)
    there = _shards_there(url, access, key) if in_shards else []  # before the work, also if they are to be deleted
    if not overwrite:
        _refuse(there, access)
        refuse_existing([] if in_shards else [url], options)
    may_replace = (lambda each: in_shards or each == key) if overwrite else (lambda each: False)
    root = access.options.get("cache_dir") or cache_root()
    sent = SentObjects()
    with _unsent_in(root) as folder:
        written = write(os.path.join(folder, name))
        keys = [f"{prefix}/{os.path.basename(path)}" if prefix else os.path.basename(path) for path in written]
        urls = [url_of(access, each) for each in keys]
        if not overwrite:
            refuse_existing(urls, options)
            _refuse(_shards_there(url, access, key) if in_shards else [], access)
        try:
            for path, each, shown in zip(written, keys, urls, strict=True):
                _send(access, each, path, shown, sent, create=not may_replace(each))
        except BaseException as error:
            if sent.unconfirmed == keys[-1]:
                error.add_note(
                    f"The store did not say whether it has {urls[-1]}: what was sent is left, as it may be complete. "
                    "Look whether it can be read, or write it again with overwrite=True"
                )
            elif not any(map(may_replace, sent.tags)):  # what it replaced is gone, and the new one is whole
                stuck = _take_back(store, sent.tags)
                if stuck:
                    error.add_note(f"These objects that were sent could not be deleted: {', '.join(stuck)}")
            raise
    left = [each for each in there if each.rpartition("/")[2] not in map(os.path.basename, written)]
    try:
        _delete(left, access)
    except Exception as error:
        error.add_note("The new files are complete. Delete this one and the other old ones, which a pattern reads too")
        raise
    return urls


@contextmanager
def _unsent_in(root: str) -> Generator[str]:
    """Yield a folder for files that are not sent yet; an error of the local disk says what it is for."""
    try:
        os.makedirs(root, exist_ok=True)
        with LockedFolder(root, UNSENT) as folder:
            yield folder
    except OSError as error:
        if str(error.filename).startswith(root) or (error.filename is None and error.errno in _NO_ROOM):
            error.add_note(
                f"files for a URL are complete in {root} before they are sent: make room there, or name another folder "
                "with storage_options={'cache_dir': ...}"
            )
        raise


def delete_objects(urls: Sequence[str], options: Mapping[str, Any] | None) -> None:
    """Delete objects, some of which may be gone."""
    for url in urls:
        access, key = split_url(url, options)
        _delete([key], access)


def _delete(keys: Sequence[str], access: Access) -> None:
    for each in keys:
        with suppress(FileNotFoundError):  # another writer has deleted it
            answer_of(lambda each=each: store_of(access).delete(each), url_of(access, each), access, action="delete it")


def refuse_existing(urls: Sequence[str], options: Mapping[str, Any] | None) -> None:
    """Raise a `FileExistsError` for the first of these URLs that has an object."""
    for url in urls:
        access, key = split_url(url, options)
        if _exists(access, key, shown_url(url)):
            raise FileExistsError(f"{shown_url(url)} exists already; remove it, or pass overwrite=True")


def _shards_there(url: str, access: Access, key: str) -> list[str]:
    """Return the keys of all shards of a key that are there, of whatever number, as far as the store has a listing."""
    if scheme_of(url) == "http":
        return []
    folder, _, name = key.rpartition("/")
    listed = answer_of(lambda: list(store_of(access).list(folder)), shown_url(url), access, action="list its folder")
    beside = (each.key.rpartition("/") for each in listed)
    return sorted("".join(parts) for parts in beside if parts[0] == folder and is_shard_of(parts[2], name))


def _refuse(shards: Sequence[str], access: Access) -> None:
    """Raise a `FileExistsError` for the first of these shards, which are there."""
    for each in shards:
        raise FileExistsError(shard_exists(url_of(access, each)))


def _send(access: Access, key: str, path: str, shown: str, sent: SentObjects, *, create: bool) -> None:
    """Send a file and note its key and tag, also if the caller is interrupted: the request under way ends first.

    If the answer was lost, the object is compared with the file.
    """
    stopped = Event()

    def write() -> None:
        try:
            sent.tags[key] = answer_of(
                lambda: store_of(access).write(key, path, create=create),
                shown,
                access,
                action="write it",
                stopped=stopped,
            )
            return
        except PermissionError:  # a clear answer
            raise
        except Exception as error:  # noqa: BLE001 - raised below, unless the object is there
            failure = error
        try:
            found = answer_of(lambda: _tag_of_equal(store_of(access), key, path), shown, access, stopped=stopped)
        except FileNotFoundError:
            raise failure from None
        except Exception:  # noqa: BLE001 - of the second question
            sent.unconfirmed = key
            raise failure from None
        if found is not None:
            sent.tags[key] = found.tag
        elif isinstance(failure, FileExistsError):
            raise FileExistsError(
                f"{shown} exists already: another writer made it in the meantime; remove it, or pass overwrite=True"
            ) from None
        else:
            raise failure

    with ThreadPoolExecutor(1, "penstock-write") as thread:  # its end waits for the request
        request = thread.submit(write)
        try:
            request.result()
        except BaseException:
            stopped.set()
            raise


def _tag_of_equal(store: ObjectStore, key: str, path: str) -> ObjectInfo | None:
    """Return the size and tag of an object that has the bytes of a file; `None` if it has others."""
    found = store.head(key)
    if found.size != os.path.getsize(path):
        return None
    with open(path, "rb") as file:
        for begin in range(0, found.size, _COMPARED):
            end = min(begin + _COMPARED, found.size)
            if store.read(key, begin, end, found.tag) != file.read(end - begin):
                return None
    return found


def _take_back(store: ObjectStore, tags: dict[str, str | None]) -> list[str]:
    """Delete objects that still have these tags, first that sent last, which the others belong to.

    Return the keys of those that could not be deleted: the error of sending counts.
    """
    stuck: list[str] = []
    for key, tag in reversed(tags.items()):
        try:
            if tag is not None and store.head(key).tag == tag:
                store.delete(key)
        except FileNotFoundError:
            continue
        except Exception:  # noqa: BLE001 - any library's; the caller tells which objects are left
            stuck.append(key)
    return stuck


def _exists(access: Access, key: str, shown: str) -> bool:
    try:
        answer_of(lambda: store_of(access).head(key), shown, access)
    except FileNotFoundError:
        return False
    return True
