"""The protocol of sources whose files can only be read from their beginning."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from penstock.core.digest import hasher
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Items
from penstock.elements.spec import Spec
from penstock.storage.sidecar import Stamp

LARGEST = 1 << 30
"""The largest size, in bytes, of one element of a compressed file."""
READ_AT_ONCE = 1 << 20
"""Bytes of content that are read at a time, unless an element is larger."""
T = TypeVar("T")


class Stream(Protocol):
    """Elements of files in order: immutable and picklable; several files may be read in parallel."""

    @property
    def name(self) -> str:
        """A short label for `explain()`: the call that made the source."""
        ...

    @property
    def paths(self) -> Sequence[str]:
        """The files, in their order."""
        ...

    def spec(self) -> Spec:
        """Return the spec of one element, or `None` if it is unknown until one is read."""
        ...

    def read(self, file: int, /) -> Iterator[Chunk]:
        """Yield the elements of the file with this number; a `Faulty` replaces a bad element that others may follow."""
        ...

    def fingerprint(self) -> tuple[Any, ...]:
        """Return values that identify the data: few, equal in every process."""
        ...


class FileFormat(Protocol):
    """The elements of files once decompressed."""

    @property
    def name(self) -> str: ...
    @property
    def paths(self) -> list[str]: ...
    def spec(self) -> Spec: ...


F = TypeVar("F", bound=FileFormat)


@frozen(eq=False)
class Compressed(Generic[F]):
    """The elements that `form` describes, file by file, each decompressed by `compressions[i]`, if not `None`."""

    form: F
    compressions: list[str | None]

    @property
    def name(self) -> str:
        return self.form.name

    @property
    def paths(self) -> list[str]:
        return self.form.paths

    def spec(self) -> Spec:
        return self.form.spec()


class Faulty(Items):
    """One element that cannot be made because of `error`; others may follow."""

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        super().__init__([None])
        self.error = error

    def elements(self) -> list[Any]:
        """Raise the error."""
        raise self.error


def with_faults(count: int, make: Callable[[int, int], T]) -> Iterator[T | Faulty]:
    """Yield elements 0 to `count` as `make(low, high)` makes them, and a `Faulty` for each that fails.

    The attribute `element` of an error must be the index of the first failed element among those requested. After an
    error, one element is made alone, then two, four and so on: few elements are made twice if many fail, and few calls
    are needed if one fails.
    """
    low, most = 0, count
    while low < count:
        high = min(low + most, count)
        try:
            made = make(low, high)
        except Exception as error:
            element = getattr(error, "element", None)
            if element is None:
                raise
            if element:
                yield make(low, low + element)
            yield Faulty(error)
            low, most = low + element + 1, 1
        else:
            yield made
            low, most = high, 2 * most


def content_of_files(paths: Sequence[str]) -> str:
    """Return a digest of the sizes and samples of the content of files, in order."""
    hashed = hasher()
    for path in paths:
        stamp = Stamp.of(path)
        hashed.update(f"{stamp.size} {stamp.digest} ".encode())
    return hashed.hexdigest()
