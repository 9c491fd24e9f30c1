"""Elements of zeros, and flags that distinguish real elements from padding."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Allocate
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Chunk, Columns, Items
from penstock.elements.chunks.stacking import Origin, Stack
from penstock.elements.leaves.uneven import check_text_fill, fill_value
from penstock.elements.leaves.values import memory
from penstock.elements.nested.nesting import leaf_column, nested
from penstock.elements.nested.structure import flatten, paths, unflatten
from penstock.elements.ragged import Ragged
from penstock.elements.ragged import make_ragged as made_ragged
from penstock.elements.sparse import Sparse
from penstock.elements.sparse import make_sparse as made_sparse
from penstock.elements.spec import ArraySpec, ObjectSpec, Spec

_PAIR = flatten((0, 0))[1]


def zeroed(chunk: Chunk, where: NDArray[np.bool_]) -> Chunk:
    """Return the chunk with the elements where `where`, `bool[k]`, is true replaced by zeros and empty texts.

    An object other than a number, an array, text or bytes has no zero: raise an `ElementError`.

    >>> zeroed(Items([{"x": 3, "name": "a"}]), np.array([True])).elements()
    [{'x': 0, 'name': ''}]
    """
    places = np.flatnonzero(where).tolist()
    if not places:
        return chunk
    values = list(chunk.held())
    for place in places:
        values[place] = zero(values[place])
    return Items(values)


def zero(element: Any) -> Any:
    """Return an element of zeros and empty texts, of the shapes and types of `element`."""
    leaves, structure = flatten(element)
    return unflatten(structure, [_zero(leaf, path) for leaf, path in zip(leaves, paths(structure), strict=True)])


def _zero(leaf: Any, path: str) -> Any:
    if isinstance(leaf, np.ndarray) and not leaf.dtype.hasobject:
        return np.zeros_like(leaf)
    if isinstance(leaf, np.ndarray):
        made = np.empty(leaf.shape, leaf.dtype)
        made.flat[:] = [_zero(each, path) for each in leaf.flat]
        return made
    if isinstance(leaf, np.generic):
        return np.zeros((), leaf.dtype)[()]
    if isinstance(leaf, Ragged):
        return leaf[:0].owned()
    if isinstance(leaf, Sparse):
        return Sparse(leaf.indices[:0], leaf.values[:0], leaf.dense_shape)
    for kind in (bool, int, float, complex, str, bytes):
        if isinstance(leaf, kind):
            return kind()
    at = f" at {path}" if path else ""
    raise ElementError(f"padding would need a zero for {leaf!r:.60}{at}, a {type(leaf).__name__}")


def zero_of(spec: Spec) -> Any | None:
    """Return an element of zeros and empty texts with this spec; `None` if a shape or type is unknown.

    >>> zero_of((ArraySpec((2,), np.dtype("f4")), ObjectSpec(str)))
    (array([0., 0.], dtype=float32), '')
    """
    if spec is None:
        return None
    leaves, structure = flatten(spec)
    made = [_zero_of(leaf) for leaf in leaves]
    return None if any(leaf is None for leaf in made) else unflatten(structure, made)


def _zero_of(spec: Any) -> Any | None:
    if isinstance(spec, ArraySpec) and spec.known and not spec.dtype.hasobject:
        return np.zeros(cast("tuple[int, ...]", spec.shape), spec.dtype)[()]
    empty: dict[Any, str | bytes] = {str: "", bytes: b""}
    return empty.get(spec.type) if isinstance(spec, ObjectSpec) else None


def lengthened(leaf: Stack, size: int, fill: Any, path: str, operation: str, allocate: Allocate) -> Stack:
    """Return a batch's leaf extended to `size` rows: with empty rows, or with rows full of `fill`.

    If `fill` is `None`, an array gets zeros and empty texts in the shape of its last row.

    >>> lengthened(np.array([[1, 2]]), 2, -1, "", "padded_batch", np.empty).tolist()
    [[1, 2], [-1, -1]]
    >>> lengthened(Ragged.from_rows([[1, 2]]), 3, None, "", "ragged_batch", np.empty)
    Ragged([[1, 2], [], []], int64[3, ~])
    """
    count = len(leaf)
    if isinstance(leaf, Ragged):
        splits = leaf.row_splits
        return made_ragged(leaf.values, np.concatenate([splits, np.full(size - count, splits[-1], splits.dtype)]))
    if isinstance(leaf, Sparse):
        return made_sparse(leaf.indices, leaf.values, (size, *leaf.dense_shape[1:]))
    whole = memory((size, *leaf.shape[1:]), leaf.dtype, allocate)
    whole[:count] = leaf
    if fill is not None:
        origin = Origin(path, operation=operation)
        check_text_fill(fill, type(next(iter(leaf.flat), None)), origin)
        whole[count:] = fill_value(fill, leaf, origin)
    elif leaf.dtype.hasobject:
        empty = _zero(leaf[-1], path)
        for row in range(count, size):  # not `whole[count:] = empty`, which unpacks lists among the objects
            whole[row] = empty
    else:
        whole[count:] = np.zeros((), leaf.dtype)
    return whole


def flagged(chunk: Chunk, flags: NDArray[np.bool_], key: str) -> Chunk:
    """Return the elements with a flag each: in a dict under `key`, with any other element as `(element, flag)`.

    Columns of batches have flags of shape `(k, size)`. A dict that already has the key raises an `ElementError`.

    >>> flagged(Items([{"x": 1}, 2]), np.array([True, False]), "valid").elements()
    [{'x': 1, 'valid': True}, (2, False)]
    """
    if isinstance(chunk, Columns):
        hollow = unflatten(chunk.structure, range(chunk.structure.num_leaves))
        if type(hollow) is not dict:
            return nested(_PAIR, [chunk, leaf_column(flags)])
        order, structure = flatten(with_flag(hollow, -1, key))
        return Columns(structure, [flags if at < 0 else chunk.columns[at] for at in order], len(chunk))
    pairs = zip(chunk.held(), flags.tolist(), strict=True)
    return Items([with_flag(element, flag, key) for element, flag in pairs])


def flagged_spec(spec: Spec, key: str, *, shape: tuple[int | None, ...] = ()) -> Spec:
    """Return the spec of elements with a flag each, or of batches with flags of this shape."""
    return None if spec is None else with_flag(spec, ArraySpec(shape, np.dtype(np.bool_)), key)


def without_flags(out: list[NDArray[Any]] | None, spec: Spec, key: str) -> list[NDArray[Any]] | None:
    """Return memory for the leaves of flagged elements without the flags; `None` if the flags cannot be found.

    `spec` is the spec of the elements without flags. If that is unknown, the only leaf of type `bool` has the flags.
    """
    if out is None:
        return None
    if spec is None:
        rest = [array for array in out if array.dtype != np.bool_]
        return rest if len(rest) == len(out) - 1 else None
    leaves, structure = flatten(spec)
    at = flatten(with_flag(unflatten(structure, range(len(leaves))), -1, key))[0].index(-1)
    return [*out[:at], *out[at + 1 :]]


def with_flag(element: Any, flag: Any, key: str) -> Any:
    """Return an element or batch with its flag or flags: in a dict under `key`, with any other element as a pair.

    >>> with_flag({"x": 1}, True, "valid"), with_flag(2, False, "valid")
    ({'x': 1, 'valid': True}, (2, False))
    """
    if type(element) is not dict:
        return element, flag
    if key in element:
        raise ElementError(f"an element already has {key!r}; choose another name for the mask with mask_key=")
    return {**element, key: flag}
