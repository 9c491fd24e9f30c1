"""What every source offers: elements by position."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.chunk import Chunk
from penstock.elements.spec import Spec

INFINITE = -1
"""The length of a source that never ends."""


class Called(NamedTuple):
    """The functions of the user's that a source calls, those of one object or any, and what the user said of them."""

    owner: Any
    functions: tuple[Any, ...]
    thread_safe: bool | None

    @property
    def object(self) -> Any:
        """The object, or where the functions belong to none the first of them."""
        return self.functions[0] if self.owner is None else self.owner


class Source(Protocol):
    """Elements by position: immutable, picklable, and safe to read from any number of threads.

    Its optional powers are the protocols of `sources.powers`.
    """

    @property
    def name(self) -> str:
        """A short label for `explain()`: the call that made the source."""
        ...

    @property
    def length(self) -> int:
        """How many elements there are, or `INFINITE`."""
        ...

    def spec(self) -> Spec:
        """Return the spec of one element, or `None` where only reading one can tell."""
        ...

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        """Return the elements at `rows`, positions in [0, length).

        `out` may hold an array of shape (k, ...) a leaf, memory of the caller's. A column that fits there, in shape
        and dtype, is written there and is that very array; others are the source's own, and may be read-only views.
        An error of one element has its index in `rows` as the attribute `element`, where it is known.
        """
        ...

    def describe(self, row: int) -> str:
        """Return which record an element is: `photos/cat/3.jpg`, `item 17 of list`."""
        ...

    def fingerprint(self) -> tuple[Any, ...]:
        """Return what identifies the data: small, of strings and integers, equal in every process."""
        ...
