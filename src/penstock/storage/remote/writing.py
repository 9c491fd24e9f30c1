"""Files written to URLs: complete on the local disk first, then sent, each visible once the store has all of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from penstock.core.errors import PlanError
from penstock.storage.remote.disk import cache_root
from penstock.storage.remote.file import Access, shown_url
from penstock.storage.remote.listing import answer_of
from penstock.storage.remote.stores import ObjectStore, scheme_of, split_url, store_of, url_of
from penstock.storage.shards import is_shard_of, shard_exists
from penstock.storage.temporary import LockedFolder

UNSENT = "penstock-unsent-"
"""The beginning of the names of folders with files that are not sent yet."""


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
    by then: it is another writer's.
    """
    access, key = split_url(url, options)
    prefix, _, name = key.rpartition("/")
    if not name:
        raise PlanError(f"{shown_url(url)}: expected the name of a file after the bucket or folder")
    store = store_of(access)
    there = _shards_there(url, access, key) if in_shards else []  # before the work, also if they are to be deleted
    if not overwrite:
        _refuse(there, access)
        refuse_existing([] if in_shards else [url], options)
    may_replace = (lambda each: in_shards or each == key) if overwrite else (lambda each: False)
    root = access.options.get("cache_dir") or cache_root()
    os.makedirs(root, exist_ok=True)
    sent: list[tuple[str, str | None]] = []  # keys and tags
    with LockedFolder(root, UNSENT) as folder:
        written = write(os.path.join(folder, name))
        keys = [f"{prefix}/{os.path.basename(path)}" if prefix else os.path.basename(path) for path in written]
        urls = [url_of(access, each) for each in keys]
        if not overwrite:
            refuse_existing(urls, options)
            _refuse(_shards_there(url, access, key) if in_shards else [], access)
        try:
            for path, each, shown in zip(written, keys, urls, strict=True):
                _send(store, each, path, shown, sent, create=not may_replace(each))
        except BaseException:
            for each, tag in sent:
                with suppress(Exception):  # the error of sending counts
                    if not may_replace(each) and tag is not None and store.head(each).tag == tag:
                        store.delete(each)
            raise
    left = [each for each in there if each.rpartition("/")[2] not in map(os.path.basename, written)]
    _delete(left, access)
    return urls


def delete_objects(urls: Sequence[str], options: Mapping[str, Any] | None) -> None:
    """Delete objects, some of which may be gone."""
    for url in urls:
        access, key = split_url(url, options)
        _delete([key], access)


def _delete(keys: Sequence[str], access: Access) -> None:
    for each in keys:
        with suppress(FileNotFoundError):  # another writer has deleted it
            answer_of(lambda each=each: store_of(access).delete(each), url_of(access, each))


def refuse_existing(urls: Sequence[str], options: Mapping[str, Any] | None) -> None:
    """Raise a `FileExistsError` for the first of these URLs that has an object."""
    for url in urls:
        access, key = split_url(url, options)
        if _exists(store_of(access), key, shown_url(url)):
            raise FileExistsError(f"{shown_url(url)} exists already; remove it, or pass overwrite=True")


def _shards_there(url: str, access: Access, key: str) -> list[str]:
    """Return the keys of all shards of a key that are there, of whatever number, as far as the store has a listing."""
    if scheme_of(url) == "http":
        return []
    folder, _, name = key.rpartition("/")
    listed = answer_of(lambda: list(store_of(access).list(folder)), shown_url(url))
    beside = (each.key.rpartition("/") for each in listed)
    return sorted("".join(parts) for parts in beside if parts[0] == folder and is_shard_of(parts[2], name))


def _refuse(shards: Sequence[str], access: Access) -> None:
    """Raise a `FileExistsError` for the first of these shards, which are there."""
    for each in shards:
        raise FileExistsError(shard_exists(url_of(access, each)))


def _send(
    store: ObjectStore, key: str, path: str, shown: str, sent: list[tuple[str, str | None]], *, create: bool
) -> None:
    """Send a file and note its key and tag, also if the caller is interrupted: the request ends first."""

    def write() -> None:
        try:
            tag = answer_of(lambda: store.write(key, path, create=create), shown)
        except FileExistsError:
            raise FileExistsError(
                f"{shown} exists already: another writer made it in the meantime, or an earlier try of this one did, "
                "which the store did not confirm; compare and remove it, or pass overwrite=True"
            ) from None
        sent.append((key, tag))

    with ThreadPoolExecutor(1, "penstock-write") as thread:  # its end waits for the request
        thread.submit(write).result()


def _exists(store: ObjectStore, key: str, shown: str) -> bool:
    try:
        answer_of(lambda: store.head(key), shown)
    except FileNotFoundError:
        return False
    return True
