"""Remote objects as files: read in ranges, as Python's binary files, or copied to the local disk for one use."""

from __future__ import annotations

import errno
import io
import os
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, BinaryIO

from penstock.core.contexts import contextmanager
from penstock.storage.local import Extent
from penstock.storage.remote.disk import cache_root
from penstock.storage.remote.fetcher import fetcher
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.ranges import LARGEST_REQUEST
from penstock.storage.temporary import LockedFolder

COPY = "penstock-copy-"
"""The beginning of the names of folders with copies of objects."""
_STEP = 8 << 20  # bytes fetched as one when a file is read in order
_AHEAD = 4  # steps announced
_PAGE = 1 << 16  # bytes read for a small part
_MOST_PAGES = 256  # kept of a file


def open_file(path: str) -> BinaryIO:
    """Return a local or remote file, opened to read."""
    return io.BufferedReader(RemoteReader(path), 1 << 17) if isinstance(path, RemoteFile) else open(path, "rb")


def open_parts(path: str) -> Any:
    """Return a local or remote file, opened to read small parts here and there, such as headers."""
    return PagedReader(path) if isinstance(path, RemoteFile) else open(path, "rb")


class RemoteReader(io.RawIOBase):
    """A remote object as a binary file that can seek. `held` are parts of it that need no request."""

    def __init__(self, file: RemoteFile, held: Sequence[tuple[int, memoryview]] = ()) -> None:
        self.file = file
        self._held = held
        self._at = 0
        self._announced = 0  # the end of what was announced
        self._last = 0  # the end of the last read

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.file.size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def read(self, size: int | None = -1, /) -> bytes:
        end = self.file.size if size is None or size < 0 else min(self._at + size, self.file.size)
        if end <= self._at:
            return b""
        content = self._range(self._at, end)
        self._at = end
        return bytes(content)

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        view = memoryview(buffer).cast("B")
        content = self.read(len(view))
        view[: len(content)] = content
        return len(content)

    @property
    def holds(self) -> bool:
        """True if parts of the file need no request."""
        return bool(self._held)

    def head(self, count: int) -> bytes:
        """Return the first bytes, by a request of these alone."""
        return bytes(fetcher().read([(self.file, 0, min(count, self.file.size))])[0])

    def _range(self, begin: int, end: int) -> memoryview:
        """Return a range: of what is held, or by a request of its own unless the file is read in order."""
        for at, content in self._held:
            if at <= begin and end <= at + len(content):
                self._last = end
                return content[begin - at : end - at]
        is_next, self._last = begin == self._last, end
        if not is_next:
            return fetcher().read([(self.file, begin, end)])[0]
        whole = self._in_order(begin, end)
        self._held = [(begin, whole)]
        return whole[: end - begin]

    def _in_order(self, begin: int, end: int) -> memoryview:
        """Return the bytes from `begin` to the end of the step of `end`; announce the steps after it."""
        tail = next((content[begin - at :] for at, content in self._held if at <= begin <= at + len(content)), None)
        parts = [] if tail is None else [tail]
        extents = extents_in_order(self.file, begin + sum(map(len, parts)))
        count = next((i for i, extent in enumerate(extents) if extent[1] >= end), len(extents))
        later = [extent for extent in extents[count : count + _AHEAD] if extent[1] >= self._announced]
        if later:
            self._announced = later[-1][2]
            fetcher().announce(later)
        parts += fetcher().read(extents[:count])
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))


class PagedReader(RemoteReader):
    """A remote object as a binary file of which small parts are read, each with a whole page, which is kept.

    Larger parts are requested as they are, unless they are held.
    """

    def __init__(self, file: RemoteFile, pages: dict[int, memoryview] | None = None) -> None:
        super().__init__(file)
        self._pages = {} if pages is None else pages
        self._holding = threading.RLock()

    def again(self) -> PagedReader:
        """Return a reader of the same file, with a place of its own and the same pages."""
        return PagedReader(self.file, self._pages)

    @contextmanager
    def holding(self, extents: Iterable[Extent]) -> Generator[None]:
        """Fetch some extents at once, and hold them meanwhile; other threads wait."""
        wanted = list(extents)
        contents = fetcher().read(wanted)
        with self._holding:
            self._held = [(extent[1], content) for extent, content in zip(wanted, contents, strict=True)]
            try:
                yield
            finally:
                self._held = ()

    def _range(self, begin: int, end: int) -> memoryview:
        held = next((each for each in self._held if each[0] <= begin and end <= each[0] + len(each[1])), None)
        if held is not None:
            return held[1][begin - held[0] : end - held[0]]
        if end - begin > _PAGE:
            return fetcher().read([(self.file, begin, end)])[0]
        pages = range(begin // _PAGE, (end - 1) // _PAGE + 1)
        content = b"".join(map(self._page, pages)) if len(pages) > 1 else self._page(pages[0])
        return memoryview(content)[begin - pages[0] * _PAGE : end - pages[0] * _PAGE]

    def _page(self, number: int) -> memoryview:
        found = self._pages.get(number)
        if found is None:
            begin = number * _PAGE
            found = fetcher().read([(self.file, begin, min(begin + _PAGE, self.file.size))])[0]
            if len(self._pages) >= _MOST_PAGES:
                self._pages.pop(next(iter(self._pages.copy())), None)  # other threads may do the same
            self._pages[number] = found
        return found


def extents_in_order(file: RemoteFile, begin: int = 0) -> list[Extent]:
    """Return the extents of a file from `begin` on, each up to the next multiple of the size of a step."""
    bounds = [begin, *range((begin // _STEP + 1) * _STEP, file.size, _STEP), file.size]
    return [(file, low, high) for low, high in pairwise(bounds) if low < high]


@contextmanager
def local_copy(file: RemoteFile, seen: Callable[[int], None] = lambda position: None) -> Generator[str]:
    """Yield the path of a local copy of an object, deleted afterwards; `seen` is called with each position reached.

    The copy is made in the folder of the caches, so that it needs the space of the largest object there for a moment.
    """
    with LockedFolder(_room_for(file), COPY) as folder:
        yield _copied(file, folder, seen)


class KeptCopy:
    """A local copy of an object, deleted with this Python object or at the end of the process.

    `beside` are objects to copy into the same folder, by the endings of their names.
    """

    def __init__(self, file: RemoteFile, beside: Mapping[str, RemoteFile]) -> None:
        self._folder = LockedFolder(_room_for(file), COPY)
        self.path = _copied(file, self._folder.path)
        for ending, other in beside.items():
            _copied(other, self._folder.path, ending=ending)


def _room_for(file: RemoteFile) -> str:
    """Return the folder for a copy of an object; raise an `OSError` if there is no room."""
    folder = os.fspath(file.access.options.get("cache_dir") or cache_root())
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK):
            folder = tempfile.gettempdir()
    except OSError:
        folder = tempfile.gettempdir()
    free = os.statvfs(folder)
    if free.f_bavail * free.f_frsize < file.size:
        words = f"no room for a copy of {file} ({file.size:,} bytes), which is read as a whole; give cache_dir="
        raise OSError(errno.ENOSPC, words, folder)
    return folder


def _copied(
    file: RemoteFile, folder: str, seen: Callable[[int], None] = lambda position: None, ending: str = ""
) -> str:
    """Copy an object into a folder and return the path; `seen` is called with each position reached."""
    with open(os.path.join(folder, f"copy{ending}"), "xb") as copy:
        extents = extents_in_order(file)
        ahead = max(4 * LARGEST_REQUEST // _STEP, 1)
        for i, extent in enumerate(extents):
            if i == 0:
                fetcher().announce(extents[:ahead])
            elif i + ahead <= len(extents):
                fetcher().announce(extents[i + ahead - 1 : i + ahead])
            copy.write(fetcher().read([extent])[0])
            seen(extent[2])
    return copy.name
