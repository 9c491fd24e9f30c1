"""Arguments that hold one value for all leaves, or one per leaf in the nesting of the elements."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from penstock.core.errors import ElementError
from penstock.elements.nested.structure import Structure

if TYPE_CHECKING:
    import optree

PartialShape: TypeAlias = tuple[int | None, ...]
"""The shape of a leaf; `None` is a size to be determined."""


def per_leaf(
    given: Any, structure: Structure, is_one: Callable[[Any], bool], *, argument: str, wanted: str
) -> list[Any]:
    """Return the value `given` for each leaf of `structure`; `None` for leaves without one.

    `given` is one value for all leaves, or a nesting like the structure, in which `None` may replace any part.

    >>> from penstock.elements.nested.structure import flatten
    >>> pair = flatten((1, 2))[1]
    >>> per_leaf([3], pair, is_shape, argument="f(shapes=", wanted="a shape")
    [[3], [3]]
    >>> per_leaf(([3], None), pair, is_shape, argument="f(shapes=", wanted="a shape")
    [[3], None]
    >>> nested = flatten({"x": (1, 2), "y": 3})[1]
    >>> per_leaf({"x": None, "y": [4]}, nested, is_shape, argument="f(shapes=", wanted="a shape")
    [None, None, [4]]
    """
    if given is None:
        return [None] * structure.num_leaves
    parts = _parts(given, structure.treespec)
    if parts is not None and all(part is None or is_one(part) for part in parts):
        return parts
    if is_one(given):
        return [given] * structure.num_leaves
    raise ElementError(f"{argument}{given!r}): expected {wanted}, or one for each leaf in the nesting {structure!r}")


def _parts(given: Any, spec: optree.PyTreeSpec) -> list[Any] | None:
    """Return the value given for each leaf of a nesting; `None` if values are nested in another way."""
    if given is None:
        return [None] * spec.num_leaves
    if spec.is_leaf():
        return [given]
    try:
        children = cast("optree.PyTreeSpec", spec.one_level()).flatten_up_to(given)
    except (ValueError, TypeError):
        return None
    found = list(map(_parts, children, spec.children()))
    return None if None in found else list(chain.from_iterable(cast("list[list[Any]]", found)))


def is_shape(value: Any) -> bool:
    """Return True if `value` is a sequence of sizes, each of which may be `None` or -1."""
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iu" and bool((value >= -1).all())
    return isinstance(value, list | tuple) and all(map(_is_size, value))


def as_shape(value: Any) -> PartialShape | None:
    """Return a sequence of sizes, or a single size, as a tuple, with `None` for -1.

    >>> as_shape([3, -1]), as_shape(24)
    ((3, None), (24,))
    """
    if isinstance(value, int | np.integer):
        value = [value]
    return None if value is None else tuple(None if size is None or size == -1 else int(size) for size in value)


def shape_per_leaf(given: Any, structure: Structure, *, argument: str, wanted: str) -> list[PartialShape | None]:
    """Return the shape `given` for each leaf of `structure`; `None` for leaves without one.

    In a nesting, a single size is a shape of one dimension.

    >>> from penstock.elements.nested.structure import flatten
    >>> pair = flatten({"x": 1, "y": 2})[1]
    >>> shape_per_leaf({"x": 24, "y": [3, -1]}, pair, argument="f(shapes=", wanted="a shape")
    [(24,), (3, None)]
    """
    if isinstance(given, dict | tuple) and not is_shape(given):
        return list(map(as_shape, per_leaf(given, structure, _is_size_or_shape, argument=argument, wanted=wanted)))
    return list(map(as_shape, per_leaf(given, structure, is_shape, argument=argument, wanted=wanted)))


def fits(shape: PartialShape, known: PartialShape) -> bool:
    """Return True if a value of the shape `known`, as far as known, may fit into `shape`.

    >>> fits((3, None), (None, 8)), fits((3,), (4,)), fits((3,), ())
    (True, False, False)
    """
    pairs = zip(shape, known, strict=False)
    return len(shape) == len(known) and all(room is None or size is None or room >= size for room, size in pairs)


def filled(shape: PartialShape, known: PartialShape) -> PartialShape:
    """Return the shape with open sizes taken from `known`."""
    return tuple(size if room is None else room for room, size in zip(shape, known, strict=True))


def _is_size_or_shape(value: Any) -> bool:
    return is_shape(value) or (value is not None and _is_size(value))


def _is_size(size: Any) -> bool:
    whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
    return size is None or (whole and int(size) >= -1)
