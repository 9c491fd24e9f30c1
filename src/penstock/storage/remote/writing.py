"""Files written to URLs: complete on the local disk first, then sent, each visible once the store has all of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from penstock.core.errors import PlanError
from penstock.storage.remote.disk import cache_root
from penstock.storage.remote.file import shown_url
from penstock.storage.remote.listing import answer_of
from penstock.storage.remote.stores import ObjectStore, split_url, store_of, url_of
from penstock.storage.temporary import LockedFolder

UNSENT = "penstock-unsent-"
"""The beginning of the names of folders with files that are not sent yet."""


def write_to_url(
    write: Callable[[str], list[str]], url: str, options: Mapping[str, Any] | None, *, overwrite: bool
) -> list[str]:
    """Call `write` with a local path, send the files that it returns, and return their URLs.

    No object is sent before all files are complete. If sending fails, the objects sent so far are deleted, unless they
    replaced others. An existing object raises a `FileExistsError`, or is replaced with `overwrite`.
    """
    access, key = split_url(url, options)
    prefix, _, name = key.rpartition("/")
    if not name:
        raise PlanError(f"{shown_url(url)}: expected the name of a file after the bucket or folder")
    store = store_of(access)
    root = access.options.get("cache_dir") or cache_root()
    os.makedirs(root, exist_ok=True)
    sent: list[str] = []
    with LockedFolder(root, UNSENT) as folder:
        written = write(os.path.join(folder, name))
        keys = [f"{prefix}/{os.path.basename(path)}" if prefix else os.path.basename(path) for path in written]
        urls = [url_of(access, each) for each in keys]
        if not overwrite:
            for each, shown in zip(keys, urls, strict=True):
                if _exists(store, each, shown):
                    raise FileExistsError(f"{shown} exists already; remove it, or pass overwrite=True")
        try:
            for path, each, shown in zip(written, keys, urls, strict=True):
                sent.append(each)  # before: an interrupted request may still have made it
                answer_of(lambda each=each, path=path: store.write(each, path), shown)
        except BaseException:
            if not overwrite:
                for each in sent:
                    with suppress(Exception):  # the error of sending counts
                        store.delete(each)
            raise
    return urls


def _exists(store: ObjectStore, key: str, shown: str) -> bool:
    try:
        answer_of(lambda: store.head(key), shown)
    except FileNotFoundError:
        return False
    return True
