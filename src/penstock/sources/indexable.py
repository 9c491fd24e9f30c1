"""Objects with a length and an index: lists, map-style datasets, memory maps, user classes."""

from __future__ import annotations

import array
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.attributes import attribute_of
from penstock.core.blame import Blame, ElementPlace, add_blame
from penstock.core.contexts import contextmanager
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Chunk, Column, Columns, Items, Kept
from penstock.elements.chunks.sharing import own_array, with_own_arrays
from penstock.elements.nested import structure as structures
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import Spec
from penstock.index.blocked import Blocks
from penstock.kernels import gather
from penstock.kernels.arrays import items_at
from penstock.sources.arrays import digest_values
from penstock.sources.packed_texts import PackedTexts, packed_texts
from penstock.sources.powers import advise_of, blocks_of_source
from penstock.sources.protocol import Called

SAFE = (list, tuple, range, str, bytes, array.array, np.ndarray, np.memmap)
"""Types whose items any number of threads may read at once."""


@frozen(eq=False)
class IndexableSource:
    """The items of an object with `len(...)` and `[i]`, or with a faster method.

    `read_many(rows)` takes an `int64` array of k positions and returns a list of k elements, or any other structure of
    arrays with k rows each; `__getitems__(positions)`, as in PyTorch's and Hugging Face's datasets, returns a list of k
    elements. The arrays of a list or tuple are read-only views; those of another object are copied, since the object
    may reuse them.
    """

    data: Any
    length: int
    name: str
    thread_safe: bool | None = None

    def spec(self) -> Spec:
        return None

    @property
    def blocks(self) -> Blocks | None:
        """The object's own `blocks`, if any."""
        found = blocks_of_source(self.data)
        return found if isinstance(found, Blocks) else None

    @property
    def called(self) -> Called:
        """The method of the object that is called, with its declared thread safety."""
        data, declared = self.data, self.thread_safe
        if declared is None and (type(data) in SAFE or type(data).__module__.startswith("penstock.")):
            declared = True
        names = ("read_many", "__getitems__", "__getitem__")
        found = (attribute_of(data, name) for name in names)
        return Called(data, tuple(islice((each for each in found if each is not None), 1)), declared)

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Chunk:
        many = attribute_of(self.data, "read_many")
        if many is not None:
            with self._blamed(rows, "read_many"):
                made = many(rows)
            return self._chunk(made, len(rows))
        data: Any = self.data
        if type(data) is list and (found := items_at(cast("list[Any]", data), rows)) is not None:
            return Kept(found)
        positions = rows.tolist()
        items = attribute_of(self.data, "__getitems__")
        if items is not None and len(rows):  # some fail on an empty list
            with self._blamed(rows, "__getitems__"):
                made = items(positions)
            return self._items(made, len(rows), "__getitems__")
        if type(self.data) in (list, tuple):
            with suppress(IndexError):  # the list has shrunk: reading items one by one finds where
                return Kept(list(map(self.data.__getitem__, positions)))
        if type(self.data) in (np.ndarray, np.memmap) and not self.data.dtype.hasobject:
            return Columns(structures.LEAF, [gather(self.data, rows)], len(rows))
        return Items(self._one_by_one(positions))

    @property
    def advise(self) -> Callable[[Rows], Any] | None:
        """The object's own `advise`, if any."""
        found = advise_of(self.data)
        return found if callable(found) else None

    def describe(self, row: int) -> str:
        return f"item {row} of {self._type.__name__}"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return the object's own `fingerprint()`, or its type, length and, for a list, the simple values."""
        own = attribute_of(self.data, "fingerprint")
        if callable(own):
            return ("source", _type_name(self._type), self.length, str(own()))
        held = digest_values(cast("Sequence[Any]", self.data)) if issubclass(self._type, (list, tuple)) else ""
        return ("source", _type_name(self._type), self.length, held)

    def content(self) -> Any:
        """Return the object."""
        return self.data

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the fields, with a list of texts in memory that processes share."""
        return {**self.__dict__, "data": packed_texts(self.data)}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    @property
    def _type(self) -> type[Any]:
        """The type of the object that the user gave."""
        return list if isinstance(self.data, PackedTexts) else type(self.data)

    def _one_by_one(self, positions: list[int]) -> list[Any]:
        get: Callable[[int], Any] = self.data.__getitem__
        elements: list[Any] = []
        try:
            for position in positions:
                elements += with_own_arrays([get(position)])  # copy now: the object may reuse its array
        except Exception as caught:  # noqa: BLE001 - raised again, with the item
            error = _told(caught, "__getitem__")
            failed = positions[len(elements)]
            hint = (
                f"len({type(self.data).__name__}) was {self.length}, but there is no item {failed}: "
                "its __len__ exceeds the items of its __getitem__, or it has shrunk since"
            )
            hints = (hint,) if isinstance(error, IndexError) else ()
            add_blame(error, Blame(self.name, ElementPlace("item", failed), hints=hints))
            with suppress(AttributeError):  # an exception that takes no attributes
                error.element = len(elements)  # type: ignore[attr-defined]
            raise error  # noqa: B904 - the StopIteration is its context
        return elements

    @contextmanager
    def _blamed(self, rows: Rows, door: str) -> Generator[None]:
        """Record on an error the first requested item and the number of items."""
        try:
            yield
        except Exception as caught:  # noqa: BLE001 - raised again, with the item
            error = _told(caught, door)
            place = ElementPlace("item", int(rows[0])) if len(rows) else None
            several = f"the first of {len(rows)} items requested from {door} at once"
            add_blame(error, Blame(self.name, place, detail=several if len(rows) > 1 else ""))
            raise error  # noqa: B904 - the StopIteration is its context

    def _chunk(self, result: Any, count: int) -> Chunk:
        if isinstance(result, (Columns, Items)):
            self._check(len(result), count, "read_many")
            return result
        if isinstance(result, list):
            return self._items(result, count, "read_many")
        leaves, structure = structures.flatten(result, keep=lambda node: isinstance(node, list))
        columns: list[Column] = [
            leaf if isinstance(leaf, list | Ragged | Sparse) else _own_rows(np.asarray(leaf)) for leaf in leaves
        ]
        if not columns:
            raise ElementError(f"{self.name}: read_many returned {structure!r}, with no array in it")
        for column, path in zip(columns, structures.paths(structure), strict=True):
            if isinstance(column, np.ndarray) and column.ndim == 0:
                raise ElementError(
                    f"{self.name}: read_many returned a scalar{f' at {path}' if path else ''}; {_WANTED}"
                )
            self._check(len(column), count, f"read_many{path}")
        return Columns(structure, columns, count)

    def _items(self, result: Any, count: int, door: str) -> Items:
        elements = result if isinstance(result, list) else list(result)
        self._check(len(elements), count, door)
        return Items(with_own_arrays(elements))

    def _check(self, got: int, count: int, door: str) -> None:
        if got != count:
            raise ElementError(f"{self.name}: {door} returned {got} elements instead of {count}; {_WANTED}")


def _told(error: Exception, door: str) -> Exception:
    """Return the error; for a `StopIteration`, which generators turn into an error of their own, one that names it."""
    if not isinstance(error, StopIteration):
        return error
    return RuntimeError(f"{door} raised StopIteration, as next() does at the end of an iterator; raise another error")


def _own_rows(column: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of rows that are a view of another array."""
    return column if column.base is None else own_array(column)


_WANTED = "return a list with one element for each position, or arrays with one row for each position"


def indexable(data: Any, thread_safe: bool | None = None) -> IndexableSource:
    """Return the source of `Dataset.from_source`; `thread_safe` is the user's declaration for the object.

    >>> indexable(["a", "b"]).read_many(np.array([1, 0])).elements()
    ['b', 'a']
    """
    cls = type(data).__name__
    if isinstance(data, type):
        raise TypeError(f"from_source({data.__name__}): this is a class; pass an instance")
    if isinstance(data, (str, bytes, Mapping)):
        hint = "from_tensor_slices slices a dict of arrays" if isinstance(data, Mapping) else "use ps.read_files"
        raise TypeError(f"from_source({cls}): its items are not elements by position; {hint}")
    if hasattr(type(data), "iloc"):
        raise TypeError(f"from_source({cls}): its [i] is not a row; use from_tensor_slices(dict(frame))")
    if not (hasattr(type(data), "__getitem__") or attribute_of(data, "read_many") is not None):
        raise TypeError(f"from_source({cls}): it has neither [i] nor read_many(rows); an iterable needs from_generator")
    if not hasattr(type(data), "__len__"):
        raise TypeError(f"from_source({cls}): it has no len(); define __len__, the number of its items")
    return IndexableSource(data, len(data), f"from_source({cls})", thread_safe)


def _type_name(cls: type[Any]) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"
