"""Slices of arrays along their first dimension."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.digest import digest_array, hasher
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.chunks.chunk import Column, Columns
from penstock.elements.chunks.sharing import gathered
from penstock.elements.chunks.unstacking import check_lengths
from penstock.elements.leaves.masked import refuse_masked
from penstock.elements.nested import structure as structures
from penstock.elements.nested.structure import Structure
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import LeafSpec, ObjectSpec, Spec, is_array_like, leaf_spec, relax, sliced
from penstock.kernels import Ahead, Pool, SideThread

if TYPE_CHECKING:
    from penstock.sources.packed_texts import PackedTexts


@frozen(eq=False)
class ArraySource:
    """Elements whose leaves are the rows of arrays, as read-only views without a copy.

    A leaf of text, bytes or other objects is a list; `Ragged` and `Sparse` leaves are sliced row by row. Consecutive
    rows are a view of the arrays; others are gathered.
    """

    structure: Structure
    columns: Sequence[Column | PackedTexts]
    name: str = "from_tensor_slices"

    @property
    def length(self) -> int:
        return len(self.columns[0])

    def spec(self) -> Spec:
        return structures.unflatten(self.structure, map(_column_spec, self.columns))

    def read_many(self, rows: Rows, out: list[NDArray[Any]] | None = None) -> Columns:
        run = _run(rows)
        memory = out if out is not None and len(out) == len(self.columns) else [None] * len(self.columns)
        columns = [_read(column, rows, run, into) for column, into in zip(self.columns, memory, strict=True)]
        return Columns(self.structure, columns, len(rows))

    def begin_reading(
        self, rows: Rows, batch: int, join: Callable[[list[NDArray[Any]]], Any], pool: Pool, side: SideThread
    ) -> Ahead | None:
        """Begin to gather batches in the background, if every leaf is a plain array."""
        arrays = [column for column in self.columns if isinstance(column, np.ndarray)]
        if len(arrays) != len(self.columns) or _run(rows) is not None:
            return None
        return pool.gather_ahead(arrays, rows, batch, join, side)

    def describe(self, row: int) -> str:
        return f"slice {row} of {self.structure!r}" if len(self.columns) > 1 else f"slice {row} of the array"

    def fingerprint(self) -> tuple[Any, ...]:
        """Return shapes, dtypes and digests: of all bytes up to 64 MiB, else of 1,024 evenly spaced 64 KiB blocks."""
        return self._fingerprint

    def content(self) -> Any:
        """Return the structure and the data of each leaf."""
        return (self.structure, self.columns)

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the fields, with texts in memory that processes share."""
        columns = [_packed(column) if isinstance(column, list) else column for column in self.columns]
        return {**self.__dict__, "columns": columns}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)

    @cached_property
    def _fingerprint(self) -> tuple[Any, ...]:
        return ("arrays", repr(self.structure), *map(_column_fingerprint, self.columns))


def _packed(column: list[Any]) -> list[Any] | PackedTexts:
    from penstock.sources.packed_texts import packed_texts  # only lists need it

    return packed_texts(column)


def slices(tensors: Any) -> ArraySource:
    """Return the source of `Dataset.from_tensor_slices`: lists become arrays, tuples and dicts are structure.

    >>> slices({"x": np.arange(6).reshape(3, 2), "y": [1, 2, 3]}).read_many(np.array([1])).elements()
    [{'x': array([2, 3]), 'y': 2}]
    """
    leaves, structure = structures.flatten(tensors, keep=lambda node: isinstance(node, list))
    paths = structures.paths(structure)
    if not leaves:
        raise ElementError(f"from_tensor_slices({structure!r}): there is no array to slice")
    columns = [_column(leaf, path) for leaf, path in zip(leaves, paths, strict=True)]
    check_lengths("from_tensor_slices", columns, paths)
    return ArraySource(structure, columns)


def as_array(values: Any, *, call: str, path: str) -> NDArray[Any]:
    """Return a list, tensor or other sequence as an array, of objects for text or bytes."""
    refuse_masked(values, f"{call}: a masked array{f' at {path}' if path else ''}")
    if isinstance(values, np.ndarray) or is_array_like(values):
        return np.asarray(values)
    values = list(values)
    if values and all(isinstance(value, (str, bytes)) for value in values):
        objects = np.empty(len(values), object)
        objects[:] = values
        return objects
    hint = "Dataset.from_source takes a list of any elements"
    at = f" at {path}" if path else ""
    try:
        array: NDArray[Any] = np.asarray(values)
    except (ValueError, TypeError, OverflowError) as error:
        raise ElementError(f"{call}: the list{at} does not make one array ({error}); {hint}") from None
    if array.dtype.kind in "OUS":
        kinds = ", ".join(sorted({type(value).__name__ for value in values}))
        raise ElementError(f"{call}: the list{at} of {kinds} does not make one array of numbers; {hint}")
    return array


_LONGEST_SHOWN = 60  # characters of a value in a message


def _column(leaf: Any, path: str) -> Column:
    """Return a leaf of `from_tensor_slices` as a read-only array, or as a list if it holds objects."""
    at = f" at {path}" if path else ""
    if isinstance(leaf, Ragged | Sparse):
        return leaf.frozen()
    sequence = isinstance(leaf, Sequence) and not isinstance(leaf, (str, bytes, bytearray))
    if not (isinstance(leaf, np.ndarray) or sequence or (is_array_like(leaf) and not isinstance(leaf, np.generic))):
        text = repr(leaf)
        shown = text if len(text) <= _LONGEST_SHOWN and "\n" not in text else "an object"
        raise ElementError(
            f"from_tensor_slices: {shown}{at} is of type {type(leaf).__name__}, which has no rows to slice; "
            "pass an array or a list, or use from_tensors for one element"
        )
    array = as_array(leaf, call="from_tensor_slices", path=path)
    if array.ndim == 0:
        raise ElementError(f"from_tensor_slices: the array{at} has shape (), no rows to slice; use from_tensors")
    if array.dtype == object and array.ndim == 1:
        values: list[Any] = array.tolist()
        if not structures.all_leaves(values):
            raise ElementError(
                f"from_tensor_slices: the array of objects{at} holds dicts, lists or tuples; "
                "Dataset.from_source takes a list of any elements"
            )
        return values
    view = array.view()
    view.flags.writeable = False  # a function that writes into its element would change the data for all epochs
    return view


def _run(rows: Rows) -> slice | None:
    """Return `rows` as a slice if they are consecutive."""
    count = len(rows)
    if count == 0:
        return slice(0, 0)
    first, last = int(rows[0]), int(rows[-1])
    if last - first != count - 1 or first < 0:
        return None
    return slice(first, last + 1) if count < 3 or bool((rows[1:] - rows[:-1] == 1).all()) else None


def _read(column: Column | PackedTexts, rows: Rows, run: slice | None, into: NDArray[Any] | None) -> Column:
    if isinstance(column, list):
        return column[run] if run is not None else [column[i] for i in rows.tolist()]
    if isinstance(column, Ragged | Sparse):
        return column[run] if run is not None else column.take(rows)
    if not isinstance(column, np.ndarray):
        return column.read_many(rows)
    if run is not None:
        if into is None or into.shape != (len(rows), *column.shape[1:]) or into.dtype != column.dtype:
            return column[run]
        np.copyto(into, column[run])
        return into
    return gathered(column, rows, into)


def _column_spec(column: Column | PackedTexts) -> LeafSpec:
    if isinstance(column, np.ndarray | Ragged | Sparse):
        return sliced(leaf_spec(column))
    if not isinstance(column, list):
        return ObjectSpec(column.kind)
    if len(set(map(type, column))) == 1 and isinstance(column[0], (str, bytes)):
        return leaf_spec(column[0])
    specs = set(map(leaf_spec, column))
    joined = reduce(lambda a, b: a and relax(a, b), specs) if specs else None
    return joined or ObjectSpec(object)


def _column_fingerprint(column: Column | PackedTexts) -> tuple[Any, ...]:
    if isinstance(column, np.ndarray):
        return (str(column.dtype), column.shape, digest_array(column))
    if isinstance(column, Ragged | Sparse):
        return (type(column).__name__, column.shape, *map(_column_fingerprint, column.arrays()))
    return ("objects", len(column), digest_values(column))


def digest_values(values: Sequence[Any]) -> str:
    """Return a digest of numbers, text and bytes by content, and of other objects by type alone."""
    hashed = hasher()
    for value in values:
        content = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogatepass")
        if not isinstance(value, (str, bytes, int, float, np.generic)):
            content = type(value).__qualname__.encode()  # other contents of objects may differ from process to process
        hashed.update(f"{type(value).__name__}{len(content)}:".encode())
        hashed.update(content)
    return hashed.hexdigest()
