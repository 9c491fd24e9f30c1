"""The arrays of a batch that travel to a device, and the way to put the batch together there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Reserve
from penstock.core.blame import Blame, add_blame, note_blames
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen
from penstock.elements.encoded import encoded_images
from penstock.elements.nested.structure import Structure, flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.elements.spec import describe, spec_of
from penstock.memory.pool import ALIGNMENT

Join: TypeAlias = Callable[[Any, list[Any]], Any]
"""A function that makes a leaf like the given one of its arrays on a device."""

_MOST_SPARE = 1.25  # bytes moved, over bytes wanted, up to which memory travels with the gaps in it


@frozen()
class Parcel:
    """A batch taken apart: `arrays` travel, other leaves stay.

    A `Ragged` leaf is its values and splits, a `Sparse` one its values and indices; text, bytes and objects stay.
    """

    arrays: list[NDArray[Any]]
    leaves: list[Any]
    counts: list[int]  # arrays of each leaf
    structure: Structure

    @cached_property
    def encoded(self) -> list[int]:
        """The numbers of the leaves with images that are to be decoded on the device."""
        return [at for at, leaf in enumerate(self.leaves) if not self.counts[at] and encoded_images(leaf)]

    def opened(self, arrays: Iterable[Any], join: Join, decode: Callable[[Any], Any]) -> Any:
        """Return the batch of these arrays instead; `decode` makes an array of a leaf with encoded images."""
        given = iter(arrays)
        pairs = zip(self.leaves, self.counts, strict=True)
        made = [join(leaf, list(islice(given, count))) if count else leaf for leaf, count in pairs]
        for at in self.encoded:
            (made[at],) = each_converted(decode, [made[at]], lambda at=at: [paths(self.structure)[at]])
        return unflatten(self.structure, made)

    def paths(self) -> list[str]:
        """Return the path to the leaf of each array."""
        named = zip(paths(self.structure), self.counts, strict=True)
        return [path or "the batch" for path, count in named for _ in range(count)]


def parcel_of(batch: Any, *, deep_ragged: bool = True) -> Parcel:
    """Take a batch apart; `Ragged` leaves with several ragged dimensions stay unless `deep_ragged`.

    >>> parcel = parcel_of({"x": np.zeros(2), "r": Ragged.from_rows([[1], [2, 3]]), "s": "text"})
    >>> parcel.counts, [array.dtype.name for array in parcel.arrays]
    ([2, 0, 1], ['int64', 'int64', 'float64'])
    """
    leaves, structure = flatten(batch)
    arrays: list[NDArray[Any]] = []
    counts: list[int] = []
    for leaf in leaves:
        before = len(arrays)
        if isinstance(leaf, Ragged):
            if leaf.dtype.kind in NUMBERS and (deep_ragged or leaf.ragged_rank == 1):
                arrays += [leaf.flat_values, *leaf.nested_row_splits]
        elif isinstance(leaf, Sparse):
            if leaf.dtype.kind in NUMBERS:
                arrays += [leaf.values, leaf.indices]
        elif is_numeric(leaf):
            arrays.append(np.asarray(leaf))
        counts.append(len(arrays) - before)
    return Parcel(arrays, leaves, counts, structure)


def each_converted(convert: Callable[[Any], Any], leaves: Iterable[Any], paths: Callable[[], list[str]]) -> list[Any]:
    """Return the converted leaves; an error has a note that names its leaf.

    >>> each_converted(len, ["a", "bc"], lambda: ['["x"]', '["y"]'])
    [1, 2]
    """
    made: list[Any] = []
    leaf: Any = None
    try:
        for leaf in leaves:
            made.append(convert(leaf))
    except Exception as error:
        path = paths()[len(made)] or "the batch"
        add_blame(error, Blame(detail=f"while converting {path}, which is {describe(spec_of(leaf))}"))
        note_blames(error)
        raise
    return made


NUMBERS = "biufc"


def is_numeric(leaf: Any) -> bool:
    """Return whether the leaf becomes a framework's array: numbers do, text, bytes and other objects do not."""
    if not isinstance(leaf, np.ndarray | np.generic):
        return isinstance(leaf, bool | int | float | complex)
    return leaf.dtype.kind in NUMBERS or leaf.dtype.type.__module__ == "ml_dtypes"  # bfloat16 and smaller floats


@frozen()
class Cargo:
    """The bytes that hold some arrays, and where each array begins among them."""

    memory: NDArray[np.uint8]
    begins: list[int]


def cargo_of(arrays: Sequence[NDArray[Any]], reserve: Reserve) -> Cargo:
    """Return the arrays as one stretch of memory: the block that holds them, or else a copy in one from `reserve`.

    >>> block = np.zeros(512, np.uint8)
    >>> cargo = cargo_of([block[:8].view("f8"), block[128:136].view("i8")], np.empty)
    >>> cargo.begins, cargo.memory.base is block
    ([0, 128], True)
    """
    return _in_place(arrays) or _packed(arrays, reserve)


def _in_place(arrays: Sequence[NDArray[Any]]) -> Cargo | None:
    """Return the memory of arrays that lie in one block, densely enough to move all of it."""
    blocks = {id(array.base) for array in arrays if array.size}
    block = next((array.base for array in arrays if array.size), None)
    if len(blocks) != 1 or not isinstance(block, np.ndarray) or block.dtype != np.uint8 or block.ndim != 1:
        return None
    if not all(array.flags.c_contiguous and array.dtype.isnative for array in arrays):
        return None
    start = block.ctypes.data
    begins = [array.ctypes.data - start if array.size else 0 for array in arrays]
    low = min(begin for begin, array in zip(begins, arrays, strict=True) if array.size)
    high = max(begin + array.nbytes for begin, array in zip(begins, arrays, strict=True) if array.size)
    wanted = sum(-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays)
    out_of_line = any((begin - low) % array.itemsize for begin, array in zip(begins, arrays, strict=True) if array.size)
    if low % ALIGNMENT or out_of_line or high - low > _MOST_SPARE * wanted:
        return None
    return Cargo(block[low:high], [max(begin - low, 0) for begin in begins])


def _packed(arrays: Sequence[NDArray[Any]], reserve: Reserve) -> Cargo:
    sizes = [-(-array.nbytes // ALIGNMENT) * ALIGNMENT for array in arrays]
    *begins, total = accumulate(sizes, initial=0)
    memory = reserve(total)
    for array, begin in zip(arrays, begins, strict=True):
        native = array.dtype.newbyteorder("=")
        np.copyto(memory[begin : begin + array.nbytes].view(native).reshape(array.shape), array)
    return Cargo(memory, begins)
