"""Files that may not be completely readable: one failing element represents the lost rows of each."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import copy
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.errors import DataError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec
from penstock.index.blocked import Blocks
from penstock.sources.powers import advise_of, blocks_of_source, paths_of
from penstock.sources.protocol import Source


class OfFiles(Source, Protocol):
    """A source that knows the first row of each of its files."""

    @property
    def file_starts(self) -> Rows: ...


@frozen(eq=False)
class WithUnreadable:
    """The elements of `source`, and one failing element for each unreadable file, at `places` (sorted)."""

    source: Source
    places: Rows
    errors: list[Exception]

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def length(self) -> int:
        return self.source.length + len(self.places)

    @property
    def faults(self) -> Mapping[int, Exception]:
        """The errors of the files, by their number."""
        return dict(enumerate(self.errors))

    @cached_property
    def blocks(self) -> Blocks | None:
        """The blocks of the source; each failing element is a separate block."""
        found: Blocks | None = blocks_of_source(self.source)
        if found is None:
            return None
        inner = found.bounds[:-1]
        outer = inner + np.searchsorted(self.places - np.arange(len(self.places)), inner, side="right")
        return Blocks(np.unique(np.concatenate([outer, self.places, self.places + 1, [self.length]])), found.window)

    def spec(self) -> Spec:
        return self.source.spec()

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        rows = np.asarray(rows, np.int64)
        if len(hits := np.flatnonzero(np.isin(rows, self.places))):
            error = copy(self.errors[int(np.searchsorted(self.places, rows[hits[0]]))])  # notes belong to one raise
            error.element = int(hits[0])  # type: ignore[attr-defined] - tells which element failed
            raise error
        return self.source.read_many(self._inner(rows), out)

    def _inner(self, rows: Rows) -> Rows:
        """Return the rows of the source at these positions, none of which fails."""
        return rows - np.searchsorted(self.places, rows)

    def advise(self, rows: Rows) -> None:
        """Ask the system to begin to read the elements at `rows`."""
        if (advise := advise_of(self.source)) is not None:
            advise(self._inner(rows[~np.isin(rows, self.places)]))

    def describe(self, row: int) -> str:
        at = int(np.searchsorted(self.places, row))
        if at < len(self.places) and self.places[at] == row:
            return "the unreadable part of a file"
        return self.source.describe(row - at)

    @property
    def paths(self) -> Sequence[str]:
        """The files of the source that can be read."""
        return paths_of(self.source)

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the data and the places of failing elements."""
        return ("unreadable", tuple(self.places.tolist()), *self.source.fingerprint())


def with_unreadable(
    paths: list[str],
    make: Callable[[list[str], Collection[str]], OfFiles],
    look: Callable[[str], object],
    begins: Callable[[str], bool] = lambda path: False,
) -> OfFiles | WithUnreadable:
    """Return `make(paths, ())`, or the readable part if `look` fails for some of the files.

    Files whose first rows can be read, according to `begins`, are passed to `make` with the others, and also as `torn`.
    Each incompletely readable file has one element after its rows, which raises the error when read. If no file is
    sound, the error is raised at once.
    """
    try:
        return make(paths, ())
    except (DataError, OSError):
        wrong = {i: error for i, path in enumerate(paths) if (error := _wrong_with(path, look)) is not None}
        if not wrong or len(wrong) == len(paths):
            raise
    torn = {i for i in wrong if begins(paths[i])}
    read = [i for i in range(len(paths)) if i not in wrong or i in torn]
    source = make([paths[i] for i in read], {paths[i] for i in torn})
    starts = np.append(source.file_starts, source.length)
    places = [int(starts[np.searchsorted(read, i, "right")]) + number for number, i in enumerate(wrong)]
    return WithUnreadable(source, np.array(places, np.int64), list(wrong.values()))


def _wrong_with(path: str, look: Callable[[str], object]) -> Exception | None:
    try:
        look(path)
    except (DataError, OSError) as error:
        error.__traceback__ = None  # the error may be kept for long
        return error
    return None


def starts_of(files: Sequence[int], bounds: Rows, count: int) -> Rows:
    """Return the first row of each of `count` files, where block i starts at `bounds[i]` and is of file `files[i]`.

    >>> starts_of([0, 0, 2], np.array([0, 5, 9, 12]), 3).tolist()
    [0, 9, 9]
    """
    return bounds[np.searchsorted(np.asarray(files, np.int64), np.arange(count))]
