"""The form of a kept row: how its element is nested, of which leaves, and where their arrays lie in its bytes."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from penstock.cache.leaves import OBJECT, LeafForm, PartForm, pickled
from penstock.core.cached import cached_property
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.nested.plain import element_of, nesting_of
from penstock.elements.nested.structure import LEAF, Structure, flatten, unflatten

LARGE = 1 << 10
"""Arrays and rows of this many bytes begin at a multiple of 64, others at a multiple of their alignment, or of 16."""
_WHOLE = "element"  # the nesting of elements that are pickled whole


@frozen()
class RowForm:
    """The form of a row: the nesting of its element, as JSON data in text, and its leaves.

    A row begins with the sizes that differ from row to row (`int64`, in the order of the parts); then come the arrays
    of the leaves, each aligned. Rows of forms without such sizes all have the same length.
    """

    nesting: str
    leaves: tuple[LeafForm, ...]

    @cached_property
    def text(self) -> str:
        """The form as JSON."""
        leaves = [[leaf.kind, [[part.dtype, part.shape] for part in leaf.parts]] for leaf in self.leaves]
        return json.dumps({"nesting": json.loads(self.nesting), "leaves": leaves})

    @staticmethod
    def parsed(text: str) -> RowForm:
        """Return the form with this text."""
        told = json.loads(text)
        leaves = [
            LeafForm(kind, tuple(PartForm(dtype, tuple(shape)) for dtype, shape in parts))
            for kind, parts in told["leaves"]
        ]
        return RowForm(json.dumps(told["nesting"]), tuple(leaves))

    @cached_property
    def structure(self) -> Structure:
        """The structure of the elements. That of classes such as named tuples is unpickled."""
        told = json.loads(self.nesting)
        if told == _WHOLE:
            return LEAF
        if isinstance(told, dict) and "pickled" in told:
            return pickle.loads(base64.b64decode(told["pickled"]))  # noqa: S301 - documented: a cache runs code
        return flatten(element_of(told))[1]

    @cached_property
    def is_whole(self) -> bool:
        """True if elements are pickled whole."""
        return json.loads(self.nesting) == _WHOLE

    @property
    def is_plain(self) -> bool:
        """True if reading the elements unpickles nothing, so runs no code."""
        told = json.loads(self.nesting)
        return "pickled" not in told and all(leaf.kind != "object" for leaf in self.leaves)

    @cached_property
    def parts(self) -> tuple[PartForm, ...]:
        """The arrays of all leaves."""
        return tuple(part for leaf in self.leaves for part in leaf.parts)

    @cached_property
    def unknown(self) -> int:
        """The number of sizes that differ from row to row."""
        return sum(size is None for part in self.parts for size in part.shape)

    @cached_property
    def fixed(self) -> tuple[list[int], int] | None:
        """The starts of the arrays in a row, and the length of every row; `None` if these differ."""
        return self.layout(self.shapes(())) if self.unknown == 0 else None

    @cached_property
    def columns(self) -> list[tuple[tuple[int, ...], np.dtype[Any], int] | None]:
        """The shape, dtype and bytes of each leaf in a row, or `None` if it is not an array of a known shape."""
        return [leaf.parts[0].fixed if len(leaf.parts) == 1 else None for leaf in self.leaves]

    def layout(self, shapes: Sequence[tuple[int, ...]]) -> tuple[list[int], int]:
        """Return the starts of arrays of these shapes in a row, and the row's length."""
        at = 8 * self.unknown
        starts: list[int] = []
        for (itemsize, alignment), shape in zip(self._items, shapes, strict=True):
            size = itemsize * prod(shape)
            at = aligned(at, 64 if size >= LARGE else alignment)
            starts.append(at)
            at += size
        return starts, at

    @cached_property
    def _items(self) -> list[tuple[int, int]]:
        """The bytes and the alignment of one value of each array."""
        return [(part.known.itemsize, max(part.known.alignment, 1)) for part in self.parts]

    def shapes(self, sizes: Sequence[int]) -> list[tuple[int, ...]]:
        """Return the shapes of the arrays of a row with these sizes."""
        left = iter(sizes)
        return [tuple(next(left) if size is None else size for size in part.shape) for part in self.parts]


WHOLE_FORM = RowForm(json.dumps(_WHOLE), (OBJECT,))
"""The form of elements that are pickled whole."""


def aligned(at: int, to: int) -> int:
    """Return the first multiple of `to` that is not below `at`.

    >>> aligned(65, 64)
    128
    """
    return -(-at // to) * to


def row_alignment(length: int) -> int:
    """Return the number of bytes that the place of a row of this length is a multiple of."""
    return 64 if length >= LARGE else 16


def nesting_text(structure: Structure) -> str:
    """Return the nesting of elements of a structure as JSON; one that is not plain is pickled.

    >>> nesting_text(flatten({"x": 1, "y": (2, None)})[1])
    '{"dict": [["x", "leaf"], ["y", {"tuple": ["leaf", "none"]}]]}'
    """
    try:
        told = nesting_of(unflatten(structure, [0] * structure.num_leaves), "cache()")
    except ElementError:
        told = {"pickled": base64.b64encode(pickled(structure)).decode()}
    return json.dumps(told)
