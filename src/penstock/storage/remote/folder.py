"""Folders in a remote store: a prefix, with the objects that were below it when it was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.listing import find_below
from penstock.storage.remote.stores import split_url, url_of


class RemoteFolder(str):
    """The URL of a folder, without credentials, that knows its objects by their names below it."""

    __slots__ = ("objects",)

    objects: Mapping[str, RemoteFile]

    def __new__(cls, url: str, objects: Mapping[str, RemoteFile]) -> Self:
        made = super().__new__(cls, url)
        made.objects = objects
        return made

    @classmethod
    def of_prefix(cls, url: str, options: Mapping[str, Any] | None, *, hidden: bool = False) -> Self:
        """Return a prefix with the objects below it, which are listed once, perhaps with `hidden` ones.

        Raise a `FileNotFoundError` if there is none.
        """
        access, key = split_url(url, options)
        prefix = key.rstrip("/")
        start = len(prefix) + 1 if prefix else 0
        found = {each.key[start:]: each for each in find_below(url, options, hidden=hidden)}
        if not found:
            raise FileNotFoundError(f"there is no object below {url_of(access, prefix)!r}")
        return cls(url_of(access, prefix), found)

    def __reduce__(self) -> tuple[Any, ...]:
        return RemoteFolder, (str.__str__(self), self.objects)
