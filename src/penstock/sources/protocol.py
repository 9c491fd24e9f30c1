"""The protocol of sources: elements by position."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec


class Called(NamedTuple):
    """The user's functions that a source calls, of one object or several, and their declared thread safety."""

    owner: Any
    functions: tuple[Any, ...]
    thread_safe: bool | None

    @property
    def object(self) -> Any:
        """The object, or the first function if the functions belong to no object."""
        return self.functions[0] if self.owner is None else self.owner


class Source(Protocol):
    """Elements by position: immutable, picklable, and safe to read from any number of threads.

    Optional abilities are the protocols of `sources.powers`.
    """

    @property
    def name(self) -> str:
        """A short label for `explain()`: the call that made the source."""
        ...

    @property
    def length(self) -> int:
        """The number of elements, or `INFINITE`."""
        ...

    def spec(self) -> Spec:
        """Return the spec of one element, or `None` if it is unknown until one is read."""
        ...

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        """Return the elements at `rows`, positions in [0, length).

        `out` may hold one array of shape (k, ...) for each leaf, owned by the caller. A column whose shape and dtype
        match is written there and returned as that very array; others belong to the source, and may be read-only views.
        An error of one element has its index in `rows`, if known, as the attribute `element`.
        """
        ...

    def describe(self, row: int) -> str:
        """Return the name of an element's record, for messages: `photos/cat/3.jpg`, `item 17 of list`."""
        ...

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the data: few, strings and integers, equal in every process."""
        ...
