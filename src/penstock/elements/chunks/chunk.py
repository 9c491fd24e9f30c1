"""A run of elements that move together: as columns, one per leaf, or as a list of elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.elements.chunks.sharing import (
    gathered,
    sealed_rows,
    travelling,
    with_own_containers,
    with_own_containers_and_sealed_arrays,
    with_sealed_arrays,
)
from penstock.elements.chunks.stacking import Origin, RowNames, Stack
from penstock.elements.nested import structure as structures
from penstock.elements.nested.structure import LEAF, Structure
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.kernels import gather
from penstock.kernels.arrays import items_at, one_type
from penstock.kernels.containers import prefetch_dicts
from penstock.kernels.dicts import take_dicts_apart

Column: TypeAlias = Stack | list[Any]
"""One leaf of a run of k elements: an array of shape (k, ...), `Ragged` or `Sparse` rows, or a list of k values."""


_PYTHONS_OWN = frozenset(map(np.dtype, (np.int64, np.float64, np.bool_)))


class Columns:
    """A run of elements of one structure, stored as one column per leaf.

    >>> chunk = Columns(LEAF, [np.arange(4)], 4)
    >>> chunk.slice(1, 3).elements()
    [1, 2]
    """

    __slots__ = ("columns", "length", "structure")

    def __init__(self, structure: Structure, columns: list[Column], length: int) -> None:
        self.structure = structure
        self.columns = columns
        self.length = length

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"Columns({self.structure!r}, length={self.length})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Columns, (self.structure, travelling(self.columns), self.length)

    def elements(self) -> list[Any]:
        """Return the elements: views of array columns, or numbers.

        Numbers of `int64`, `float64` and `bool` become Python numbers, which are twice as fast to compute with; other
        numbers are NumPy scalars, so that no dtype is lost. The list itself must not be modified.
        """
        return self.structure.assemble(list(map(values_in, self.columns)), self.length)

    def held(self) -> list[Any]:
        """Return the elements for reading only; here the same as `elements()`."""
        return self.elements()

    def element(self, i: int) -> Any:
        """Return element `i`, which may be negative."""
        if not -self.length <= i < self.length:
            raise IndexError(f"element {i} is out of range: the chunk has {self.length} elements")
        i %= self.length
        return structures.unflatten(self.structure, [values_in(column[i : i + 1])[0] for column in self.columns])

    def slice(self, lo: int, hi: int) -> Columns:
        """Return elements `lo` to `hi`, as views of array columns."""
        lo, hi, _ = slice(lo, hi).indices(self.length)
        return Columns(self.structure, [column[lo:hi] for column in self.columns], max(hi - lo, 0))

    def select(self, indices: Sequence[int] | NDArray[Any]) -> Columns:
        """Return the elements at `indices`, in that order, as a copy; `indices` are positions, not a mask."""
        positions = np.asarray(indices, np.int64)
        columns = [
            _items_at(column, positions) if isinstance(column, list) else taken(column, positions)
            for column in self.columns
        ]
        return Columns(self.structure, columns, len(positions))

    def to_columns(self, rows: RowNames | None = None, *, operation: str = "batch") -> Columns:
        """Return the chunk itself."""
        return self


def taken(column: Stack, positions: Rows) -> Stack:
    """Return a copy of the rows at these positions, writeable if the column is."""
    if isinstance(column, np.ndarray):
        return gather(column, positions) if column.flags.writeable else gathered(column, positions)
    return column.take(positions) if column.writeable else column.take(positions).frozen()


def _items_at(values: list[Any], positions: Rows) -> list[Any]:
    found = items_at(values, positions)
    if found is None:
        raise IndexError(f"a position is out of range: the chunk has {len(values)} elements")
    return found


def values_in(column: Column) -> Column:
    """Return the leaves of a column as in `Columns.elements`: numbers of some dtypes as Python numbers."""
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype in _PYTHONS_OWN:
        return column.tolist()
    return column


class Items:
    """A run of any elements, as returned by a function, not yet split into leaves.

    >>> Items([{"x": 1}, {"x": 2}]).to_columns().columns
    [[1, 2]]
    """

    __slots__ = ("_types", "values")

    def __init__(self, values: list[Any], types: set[type] | None = None) -> None:
        self.values = values
        self._types = types

    @property
    def types(self) -> set[type]:
        """The types of the elements; computed once."""
        if self._types is None:
            cls = one_type(self.values)
            self._types = set(map(type, self.values)) if cls is None else {cls}
        return self._types

    @property
    def _only_type(self) -> set[type] | None:
        """The type of all elements, if known, so that parts of the run need no second check."""
        return self._types if self._types is not None and len(self._types) == 1 else None

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"Items(length={len(self.values)})"

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        _, slots = cast("tuple[None, dict[str, Any]]", super().__getstate__())
        return None, {**slots, "values": travelling(self.values)}

    def elements(self) -> list[Any]:
        """Return the elements in new containers, which a function or the consumer may modify.

        The list itself must not be modified.
        """
        if self._types is not None and structures.are_leaves(self._types):
            return self.values
        return with_own_containers(self.values)

    def held(self) -> list[Any]:
        """Return the list of elements that others hold too: for reading, and for putting into other chunks."""
        return self.values

    def element(self, i: int) -> Any:
        """Return element `i`, which may be negative, shared with other holders."""
        return self.values[i]

    def slice(self, lo: int, hi: int) -> Items:
        """Return elements `lo` to `hi`."""
        return Items(self.values[lo:hi], self._only_type)

    def select(self, indices: Sequence[int] | NDArray[Any]) -> Items:
        """Return the elements at `indices`, in that order; `indices` are positions, not a mask."""
        return Items(_items_at(self.values, np.asarray(indices, np.int64)), self._only_type)

    def to_columns(self, rows: RowNames | None = None, *, operation: str = "batch") -> Columns:
        """Split every element into its leaves; an `ElementError` names the two rows whose structures differ."""
        values = self.values
        if not values or structures.are_leaves(self.types) or structures.all_leaves(values):
            return Columns(LEAF, [values], len(values))
        flat = _flat_columns(values)
        return flat if flat is not None else _nested_columns(values, Origin(rows=rows, operation=operation))


class Fresh(Items):
    """Elements with a single holder, who may modify their containers."""

    __slots__ = ()

    def elements(self) -> list[Any]:
        """Return the elements themselves."""
        return self.values


class Kept(Items):
    """Elements that another object keeps, such as a list: passing them on takes no memory.

    Single elements get read-only views of their arrays; a batch reads the arrays directly, which takes a fifth of the
    time.
    """

    __slots__ = ()

    def elements(self) -> list[Any]:
        """Return the elements in new containers, with read-only arrays."""
        return with_own_containers_and_sealed_arrays(self.values)

    def held(self) -> list[Any]:
        """Return the elements with read-only arrays."""
        return with_sealed_arrays(self.values)

    def to_read(self) -> list[Any]:
        """Return the elements themselves, for code that changes nothing in them."""
        prefetch_dicts(self.values)
        return self.values

    def element(self, i: int) -> Any:
        """Return element `i`, which may be negative, with read-only arrays."""
        return with_sealed_arrays([self.values[i]])[0]

    def slice(self, lo: int, hi: int) -> Kept:
        """Return elements `lo` to `hi`."""
        return Kept(self.values[lo:hi], self._only_type)

    def select(self, indices: Sequence[int] | NDArray[Any]) -> Kept:
        """Return the elements at `indices`, in that order; `indices` are positions, not a mask."""
        return Kept(super().select(indices).values, self._only_type)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {"values": travelling(self.held()), "_types": self._types}


Chunk: TypeAlias = Columns | Items


def concat(chunks: Sequence[Chunk]) -> Chunk:
    """Return the elements of all chunks as one chunk; columns stay columns if all rebuild their elements alike.

    >>> concat([Columns(LEAF, [np.arange(2)], 2), Columns(LEAF, [np.arange(3)], 3)]).elements() == [0, 1, 0, 1, 2]
    True
    """
    if len(chunks) == 1:
        return chunks[0]
    columns = [chunk for chunk in chunks if isinstance(chunk, Columns)]
    if columns and len(columns) == len(chunks) and all(c.structure.rebuilds_as(columns[0].structure) for c in columns):
        parts = zip(*(chunk.columns for chunk in columns), strict=True)
        return Columns(columns[0].structure, list(map(_concat_columns, parts)), sum(map(len, columns)))
    return Items(list(chain.from_iterable(chunk.held() for chunk in chunks)))


def _concat_columns(parts: Sequence[Column]) -> Column:
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) == len(parts) and len({(array.dtype, array.shape[1:]) for array in arrays}) == 1:
        if all(array.flags.writeable for array in arrays):
            return np.concatenate(arrays, dtype=arrays[0].dtype)  # else the byte order would be this machine's
        if arrays[0].ndim == 1 or not any(array.flags.writeable for array in arrays):
            return sealed_rows(np.concatenate(arrays, dtype=arrays[0].dtype))
    for cls in (Ragged, Sparse):
        rows = [part for part in parts if isinstance(part, cls)]
        if len(rows) == len(parts) and len({_kind(part) for part in rows}) == 1:
            return cls.concatenate(rows)  # type: ignore[arg-type]
    return [value for part in parts for value in values_in(part)]


def _kind(rows: Ragged | Sparse) -> tuple[Any, ...]:
    return rows.dtype, rows.shape[1:], rows.ragged_rank if isinstance(rows, Ragged) else 0


def _flat_columns(values: list[Any]) -> Columns | None:
    """Split dicts or tuples of leaves without flattening each; return `None` for elements of any other form."""
    cls = type(values[0])
    if (cls is not dict and cls is not tuple) or one_type(values) is None:
        return None
    leaves, structure = structures.flatten(values[0])
    if not leaves or len(leaves) != len(values[0]):
        return None
    columns: list[list[Any]]
    if cls is tuple:
        if len(set(map(len, values))) > 1:
            return None
        columns = list(map(list, zip(*values, strict=True)))
    else:
        apart = take_dicts_apart(values, list(structure.treespec.entries()))
        if apart is None:
            return None
        columns = apart
    return Columns(structure, [*columns], len(values)) if all(map(structures.all_leaves, columns)) else None


def _nested_columns(values: list[Any], origin: Origin) -> Columns:
    first_leaves, structure = structures.flatten(values[0])
    flattened = [first_leaves]
    for i, value in enumerate(values[1:], start=1):
        leaves, other = structures.flatten(value)
        if other != structure:
            raise origin.misfit(f"{origin.name(0, i)} have {structures.describe_difference(structure, other)}", 0, i)
        flattened.append(leaves)
    if not first_leaves:
        return Columns(structure, [], len(values))
    return Columns(structure, list(map(list, zip(*flattened, strict=True))), len(values))
