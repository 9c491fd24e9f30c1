"""Arguments of which there may be one for all leaves, or one for each in the nesting of the elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from penstock.core.errors import ElementError
from penstock.elements.structure import Structure

Shape: TypeAlias = tuple[int | None, ...]
"""The shape of a leaf; `None` is a size that is to be found."""


def per_leaf(
    given: Any, structure: Structure, is_one: Callable[[Any], bool], *, argument: str, wanted: str
) -> list[Any]:
    """Return what is `given` for each leaf of `structure`; `None` where it is not.

    >>> from penstock.elements.structure import flatten
    >>> pair = flatten((1, 2))[1]
    >>> per_leaf([3], pair, is_shape, argument="f(shapes=", wanted="a shape")
    [[3], [3]]
    >>> per_leaf(([3], None), pair, is_shape, argument="f(shapes=", wanted="a shape")
    [[3], None]
    """
    if given is None:
        return [None] * structure.num_leaves
    try:
        parts = structure.treespec.flatten_up_to(given)
    except (ValueError, TypeError):
        parts = None
    if parts is not None and all(part is None or is_one(part) for part in parts):
        return parts
    if is_one(given):
        return [given] * structure.num_leaves
    raise ElementError(f"{argument}{given!r}): expected {wanted}, or one for each leaf in the nesting {structure!r}")


def is_shape(value: Any) -> bool:
    """Return whether `value` is a sequence of sizes, of which each may be `None` or -1."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iu" and bool((value >= -1).all())
    return isinstance(value, list | tuple) and all(map(_is_size, value))


def as_shape(value: Any) -> Shape | None:
    """Return a sequence of sizes as a tuple, with `None` for -1.

    >>> as_shape([3, -1])
    (3, None)
    """
    return None if value is None else tuple(None if size is None or size == -1 else int(size) for size in value)


def fits(shape: Shape, known: Shape) -> bool:
    """Return whether what has the shape `known`, as far as that is known, may have its place in `shape`.

    >>> fits((3, None), (None, 8)), fits((3,), (4,)), fits((3,), ())
    (True, False, False)
    """
    pairs = zip(shape, known, strict=False)
    return len(shape) == len(known) and all(room is None or size is None or room >= size for room, size in pairs)


def filled(shape: Shape, known: Shape) -> Shape:
    """Return the shape with what is `known` in the place of sizes that are to be found."""
    return tuple(size if room is None else room for room, size in zip(shape, known, strict=True))


def _is_size(size: Any) -> bool:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    return size is None or (whole and int(size) >= -1)
