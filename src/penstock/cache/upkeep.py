"""Look after the caches in a folder: list, verify and remove them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress

import numpy as np

from penstock.cache.folder import CACHE_FORMAT, VERSION, Header, headers, places
from penstock.cache.store import CacheStore
from penstock.core.arrays import Rows
from penstock.core.errors import DataError
from penstock.core.frozen import frozen

_ROWS_AT_ONCE = 1 << 12


@frozen()
class KeptKey:
    """One key of a cache: its header, its folder, and the bytes and the number of the files there."""

    header: Header
    place: str
    bytes: int
    files: int

    def open(self) -> CacheStore:
        """Return its store, for reading only."""
        return CacheStore(os.path.dirname(self.place), self.header.key, self.header.parts, readonly=True)


def kept_keys(folder: str) -> list[KeptKey]:
    """Return the keys in a cache's folder, latest first.

    A folder that is missing raises a `FileNotFoundError`, and one without any cache a `DataError`.
    """
    if not os.path.isdir(folder):
        kind = NotADirectoryError if os.path.exists(folder) else FileNotFoundError
        raise kind(f"{folder}: there is no such folder")
    found = [KeptKey(header, place, *_size(place)) for place, header in headers(folder)]
    if not found and not places(folder, of_any_version=True):
        raise DataError(f"{folder}: it has no cache; ds.cache(path) makes one")
    return found


def of_other_versions(folder: str) -> list[str]:
    """Return the folders of keys that another version of Penstock wrote, or whose header is damaged."""
    known = {place for place, _ in headers(folder)}
    return [place for place in places(folder, of_any_version=True) if place not in known]


def chosen_key(keys: list[KeptKey], given: str | None, folder: str) -> KeptKey:
    """Return the key that begins with `given`; without it, the only one. Raise a `DataError` if that is unclear."""
    fitting = [each for each in keys if given is None or each.header.key.startswith(given)]
    if len(fitting) == 1:
        return fitting[0]
    names = ", ".join(each.header.key for each in (fitting or keys)[:9]) or f"only other versions than {VERSION}"
    wanted = "one key" if given is None else f"one key that begins with {given!r}"
    raise DataError(f"{folder}: expected {wanted}, and the {CACHE_FORMAT} has {names}; name one with --key")


def damaged_rows(store: CacheStore) -> Iterator[tuple[int, Rows]]:
    """Yield, for some rows at a time, how many were verified by their checksums, and those that are damaged.

    Nothing is unpickled.
    """
    rows = store.rows
    for low in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[low : low + _ROWS_AT_ONCE]
        yield len(some), some[~store.verify(some)]


def remove(place: str) -> int:
    """Remove the folder of a key, and return the bytes of its files. Those who have it open keep what they mapped."""
    total, _ = _size(place)
    shutil.rmtree(place)
    with suppress(OSError):  # other keys are there
        os.rmdir(os.path.dirname(place))
    return total


def _size(place: str) -> tuple[int, int]:
    sizes = np.zeros(0)
    with suppress(OSError), os.scandir(place) as entries:
        sizes = np.array([entry.stat().st_size for entry in entries])
    return int(sizes.sum()), len(sizes)
