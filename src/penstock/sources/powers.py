"""Optional powers of a source: one protocol each, and the function that finds it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.attributes import attribute_of

if TYPE_CHECKING:
    from penstock.elements.nested.structure import Structure
    from penstock.index.blocked import Blocks
    from penstock.kernels import Ahead, Pool, SideThread
    from penstock.sources.protocol import Called


class ReadsBlocks(Protocol):
    """A source that reads and caches blocks of elements, so that `shuffle()` orders reads by block."""

    @property
    def blocks(self) -> Blocks | None:
        """The blocks, or `None` if elements are read one by one."""
        ...


class Advisable(Protocol):
    """A source that asks the system to read rows soon, without waiting for them.

    `advise` is called only while tasks read from a disk, from any thread. A `DataError` or `OSError` is ignored.
    """

    def advise(self, rows: Rows, /) -> None: ...


class CallsUserCode(Protocol):
    """A source that calls functions or an object of the user, which may not be safe for threads."""

    @property
    def called(self) -> Called | None:
        """The functions, or `None` if there are none."""
        ...


class HasFaults(Protocol):
    """A source with files that could not be indexed: each is one element, whose error is raised before the first."""

    @property
    def faults(self) -> Mapping[Any, Exception]: ...


class ReadsFiles(Protocol):
    """A source of files or folders, whose elements change with the size or time of a file."""

    @property
    def paths(self) -> Sequence[str]: ...


class HasContent(Protocol):
    """A source of data in memory, whose `fingerprint` covers large arrays, and objects of the user, only in part."""

    def content(self) -> Any:
        """Return the data itself."""
        ...


class GathersNatively(Protocol):
    """A source that reads only arrays in memory, so that a native thread can gather batches of rows."""

    @property
    def structure(self) -> Structure: ...

    def begin_reading(
        self, rows: Rows, batch: int, join: Callable[[list[NDArray[Any]]], Any], pool: Pool, side: SideThread, /
    ) -> Ahead | None:
        """Begin to make batches of `batch` rows each, joined by `join`; return `None` if that is impossible."""
        ...


class Computes(Protocol):
    """A source that reads nothing, so that all its calls cost alike."""

    computes: bool


def blocks_of_source(source: object) -> Blocks | None:
    """Return the blocks of a source that `ReadsBlocks`."""
    return attribute_of(source, "blocks")


def advise_of(source: object) -> Callable[[Rows], None] | None:
    """Return the method of a source that is `Advisable`."""
    return attribute_of(source, "advise")


def computes(source: object) -> bool:
    """Return whether a source `Computes` its elements."""
    return attribute_of(source, "computes") is True


def called_by(source: object) -> Called | None:
    """Return the user's functions that a source calls, if it `CallsUserCode`."""
    return attribute_of(source, "called")


def faults_of(source: object) -> Mapping[Any, Exception]:
    """Return the errors of a source that `HasFaults`, by file; an empty mapping for other sources."""
    return attribute_of(source, "faults") or {}


def paths_of(source: object) -> Sequence[str]:
    """Return the files of a source that `ReadsFiles`; none for other sources."""
    return attribute_of(source, "paths") or ()


def fetched_row_bytes(source: object) -> float:
    """Return the mean bytes of a row that are fetched from a remote store; 0 for a source of local data."""
    paths: Sequence[Any] = paths_of(source)
    if not paths or not hasattr(paths[0], "access"):  # remote files know their size
        return 0.0
    return sum(path.size for path in paths) / max(getattr(source, "length", 0), 1)


def file_starts_of(source: object) -> Rows | None:
    """Return the first row of each file of a source that `ReadsFiles` whose rows are in order; `None` for others."""
    return attribute_of(source, "file_starts") if paths_of(source) else None


def content_of_source(source: object) -> Callable[[], Any] | None:
    """Return the method of a source that `HasContent`."""
    return attribute_of(source, "content")


def native_gatherer(source: Any) -> GathersNatively | None:
    """Return the source if it `GathersNatively`."""
    return None if attribute_of(source, "begin_reading") is None else source
