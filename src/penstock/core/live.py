"""Passes over a dataset or feed that are shown while they are under way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Generic, Protocol, TextIO, TypeVar

T = TypeVar("T")


class LiveIterator(Protocol):
    """The methods of an iterator that can be shown."""

    def __iter__(self) -> Iterator[Any]: ...
    def live(
        self, title: str = ..., /, *, details: bool = ..., leave: bool = ..., file: TextIO | None = ...
    ) -> None: ...
    def close(self) -> None: ...


class Iterated(Protocol):
    """The methods of a dataset or feed that is iterated."""

    def iterator(self) -> LiveIterator: ...
    def __len__(self) -> int: ...


class LivePasses(Generic[T]):
    """An iterable over the items of a dataset or feed; each pass is the next epoch, and is shown."""

    def __init__(self, source: Iterated, title: str, *, details: bool, leave: bool, file: TextIO | None) -> None:
        if not isinstance(title, str):
            raise TypeError(f"progress(): the title must be a string, not {title!r:.60}")
        if file is not None and not callable(getattr(file, "write", None)):
            raise TypeError(f"progress(file=): expected an open text file, not {file!r:.60}")
        self._source = source
        self._title = title
        self._details = details
        self._leave = leave
        self._file = file

    def __repr__(self) -> str:
        return f"<progress of {self._source!r}>"

    def __len__(self) -> int:
        return len(self._source)

    def __iter__(self) -> Iterator[T]:
        items = self._source.iterator()
        items.live(self._title, details=self._details, leave=self._leave, file=self._file)
        try:
            yield from items
        finally:
            items.close()
