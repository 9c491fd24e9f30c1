"""The cache of objects on the local disk: bounded in bytes, shared by all processes, deleting only its own files."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any
from warnings import warn

from penstock.core.digest import digest
from penstock.core.errors import CacheWarning
from penstock.storage.remote.cache_space import DISK_BLOCK, CacheSpace, SpaceCounts, blocks_in, most_taken_by
from penstock.storage.remote.cached_file import CachedFile, is_unused
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.orders import ToldOrders

DEFAULT_CACHE_BYTES = 32 << 30
"""The bytes that the cache of a host may take, unless `storage_options=` has `cache_bytes`."""
_SUFFIX = ".psobject"
_OPEN = 256  # files that a process keeps open
_FLOOR_BYTES, _FLOOR_SHARE = 5 << 30, 20  # bytes left free on the disk, or 1 / 20 of it if that is less
_TRY_AGAIN = 1.0  # seconds after which a full cache looks again for files that make room
_LOOKS = 64  # the folder is counted again after this part of the limit was written


class DiskCache:
    """The files of a folder, one for each object, named by its URL, size and tag.

    All that the cache writes takes at most `most` bytes of the disk, whatever number of processes write: journals,
    folders, orders and, if their folder `index` is given, indexes. Once there is no more room, files that no process
    has open make room: first those that no run of the host will read, used longest ago first, then those that are read
    later than the newcomer will be read again, the last one first. If there are none, the cache keeps what it has and
    takes no more. A disk that is full or read-only ends writing with one warning.

    Of a newcomer that no run has told of, only files make room that no run has told of either, and that this process
    never used.
    """

    def __init__(self, folder: str, most: int, index: str | None = None) -> None:
        self.folder = os.path.abspath(folder)
        self._index = index
        self._most = most
        self._lock = threading.Lock()
        self._open: OrderedDict[str, CachedFile] = OrderedDict()
        self._space = CacheSpace(os.path.join(self.folder, "room"))
        self._is_off = False
        self._began = time.time()
        self._orders = ToldOrders(self.folder)
        self._try_again = 0.0  # time before which no file would make room

    def covers(self, file: RemoteFile, begin: int, end: int) -> bool:
        """Return whether a range of an object is here."""
        kept = self._file_of(file, make=False)
        return kept is not None and kept.covers(begin, end)

    def read(self, file: RemoteFile, begin: int, end: int) -> memoryview | None:
        """Return a range of an object, or `None` if it is missing or damaged."""
        kept = self._file_of(file, make=False)
        content = None if kept is None else kept.read(begin, end)
        return None if content is None else memoryview(content)

    def write(self, file: RemoteFile, begin: int, content: memoryview) -> None:
        """Keep a range of an object, if there is room."""
        if self._is_off or not len(content):
            return
        size = most_taken_by(len(content))
        try:
            if not self._begin(file, size):
                return
            try:
                kept = self._file_of(file, make=True)
                if kept is not None:
                    kept.write(begin, content)
            finally:
                with self._lock:
                    self._space.end(size)
        except OSError as error:
            self._turn_off(error)

    def look_again(self) -> None:
        """Count what is on the disk before the next write: something else was written there."""
        with self._lock, suppress(OSError), self._space.locked() as counts:
            counts.since = None

    def place_of(self, file: RemoteFile) -> str:
        """Return the path of the file of an object."""
        name = self.name_of(file)
        return os.path.join(self.folder, name[:2], name + _SUFFIX)

    def name_of(self, file: RemoteFile) -> str:
        """Return the name of an object in the cache."""
        return digest(file.identity.encode("utf-8", "surrogateescape"), size=16)

    def _file_of(self, file: RemoteFile, *, make: bool) -> CachedFile | None:
        place = self.place_of(file)
        with self._lock:
            if (kept := self._open.get(place)) is not None:
                self._open.move_to_end(place)
                return kept
            if not make and not os.path.exists(place):
                return None
            if make:
                os.makedirs(os.path.dirname(place), exist_ok=True)
            try:
                kept = CachedFile(place, file.size)
            except OSError:
                if make:
                    raise
                return None
            self._open[place] = kept
            if len(self._open) > _OPEN:  # its last user closes it
                self._open.popitem(last=False)
            return kept

    def _begin(self, file: RemoteFile, size: int) -> bool:
        """Return whether there is room for a write of at most `size` bytes on the disk, which then counts."""
        with self._lock, self._space.locked() as counts:
            if counts.since is None or counts.since >= self._most // _LOOKS:
                self._open.clear()  # of files that are no longer used, which would keep others from making room
                self._count(counts)
            if self._is_short(counts, size) > 0 and not self._make_room(size, file, counts):
                return False
            counts.add(size)
            self._space.begin(size)
            return True

    def _count(self, counts: SpaceCounts) -> list[tuple[float, int, str]]:
        """Count the bytes on the disk, and return the files as `_files`."""
        under_way = self._space.under_way()  # before the look at the disk, where they are next
        files = self._files()
        around = [self._space.folder, self._orders.folder, *([] if self._index is None else [self._index])]
        folders = DISK_BLOCK * (1 + len(self._inner()))
        counts.counted(under_way + folders + sum(blocks for _, blocks, _ in files) + sum(map(blocks_in, around)))
        return files

    def _is_short(self, counts: SpaceCounts, size: int) -> int:
        """Return the bytes that have to go before a write of `size` bytes."""
        return max(counts.taken + size - self._most, self._short_of_space(size))

    def _short_of_space(self, size: int) -> int:
        """Return the bytes that the disk lacks so that its floor stays free after `size` more."""
        folder = self.folder
        while not os.path.isdir(folder):
            folder = os.path.dirname(folder)
        disk = os.statvfs(folder)
        floor = min(_FLOOR_BYTES, disk.f_blocks * disk.f_frsize // _FLOOR_SHARE)
        return floor + size - disk.f_bavail * disk.f_frsize

    def _files(self) -> list[tuple[float, int, str]]:
        """Return the time of last use, the bytes on disk and the path of each file of the cache."""
        found: list[tuple[float, int, str]] = []
        for inner in self._inner():
            for entry in os.scandir(inner):
                if entry.name.endswith(_SUFFIX):
                    try:
                        status = entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # deleted by another process
                    found.append((status.st_mtime, 512 * status.st_blocks, entry.path))
        return found

    def _inner(self) -> list[str]:
        """Return the folders of the files."""
        if not os.path.isdir(self.folder):
            return []
        inner = [entry for entry in os.scandir(self.folder) if len(entry.name) == 2]
        return [entry.path for entry in inner if entry.is_dir(follow_symlinks=False)]

    def _make_room(self, size: int, newcomer: RemoteFile, counts: SpaceCounts) -> bool:
        """Delete files that make room for `size` bytes of a newcomer; return whether they do."""
        now = time.monotonic()
        if now < self._try_again:
            return False
        files = self._count(counts)
        short = self._is_short(counts, size)
        for taken, path in self._dispensable(newcomer, files):
            if short <= 0:
                break
            self._open.pop(path, None)  # its last user closes it
            if is_unused(path):
                os.unlink(path)
                counts.taken -= taken
                short -= taken
        if short > 0:
            self._try_again = now + _TRY_AGAIN
        return short <= 0

    def _dispensable(self, newcomer: RemoteFile, files: list[tuple[float, int, str]]) -> list[tuple[int, str]]:
        """Return the bytes and path of files that are worth less than a newcomer, the least first."""
        uses = self._orders.uses()
        its_place, its_use = self.place_of(newcomer), uses.get(self.name_of(newcomer))
        untold: list[tuple[float, int, str]] = []
        later: list[tuple[float, int, str]] = []
        for used, taken, path in files:
            use = uses.get(os.path.basename(path).removesuffix(_SUFFIX))
            if path == its_place:
                continue
            if use is None and (its_use is not None or (used < self._began and path not in self._open)):
                untold.append((used, taken, path))
            elif use is not None and its_use is not None and use.next > its_use.again:
                later.append((-use.next, taken, path))
        return [found[1:] for found in [*sorted(untold), *sorted(later)]]

    def _turn_off(self, error: OSError) -> None:
        if not self._is_off:
            self._is_off = True
            why = os.strerror(error.errno) if error.errno else str(error)
            warn(f"the cache in {self.folder} takes no more: {why}; objects are read again", CacheWarning, stacklevel=2)


def cache_root() -> str:
    """Return the folder of this user's caches."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(root, "penstock")


def index_folder(options: Mapping[str, Any]) -> str:
    """Return the folder of the indexes of remote objects."""
    return os.path.join(os.path.expanduser(os.fspath(options.get("cache_dir") or cache_root())), "index")


@lru_cache(maxsize=16)
def _disk_cache(folder: str, most: int, index: str, process: int) -> DiskCache:
    return DiskCache(folder, most, index)


def disk_cache_of(file: RemoteFile) -> DiskCache | None:
    """Return the cache for an object, or `None` if its `storage_options=` switch it off.

    An object without a tag is not kept: nothing would tell its content from another.
    """
    if file.tag is None:
        return None
    options = file.access.options
    most = int(options.get("cache_bytes", DEFAULT_CACHE_BYTES))
    if most <= 0:
        return None
    folder = options.get("cache_dir") or os.path.join(cache_root(), "objects")
    return _disk_cache(os.path.expanduser(os.fspath(folder)), most, index_folder(options), os.getpid())
