"""Guarantees for the data of a damaged file that reads without an error."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any

import numpy as np

from penstock.elements.nested.structure import flatten
from penstock.testing.alike import same


class Promise(Enum):
    """The strongest that holds of a format."""

    EXACT = "exactly the original elements: checksums cover all of them, and how many there are"
    FIRST = "the first of the original elements: each has a checksum, and nothing says how many there are"
    FORM = "elements of the original nesting and types: values have no checksum"
    ANY = "any elements: what has no checksum says their types as well"


def broken(promise: Promise, found: Sequence[Any], original: Sequence[Any]) -> str | None:
    """Return how what was found breaks a promise, or `None`.

    >>> broken(Promise.EXACT, [1, 2], [1, 2, 3])
    'there are 2 elements of 3'
    >>> broken(Promise.FIRST, [1, 2], [1, 2, 3]), broken(Promise.FORM, [5], [1, 2, 3])
    (None, None)
    """
    if promise is Promise.ANY:
        return None
    if promise is Promise.FORM:
        forms = set(map(_form, original))
        return next((f"element {i} is {each!r:.200}" for i, each in enumerate(found) if _form(each) not in forms), None)
    if len(found) > len(original) or (promise is Promise.EXACT and len(found) < len(original)):
        return f"there are {len(found)} elements of {len(original)}"
    pairs = zip(found, original, strict=False)
    return next(
        (f"element {i} is {a!r:.200}, not {b!r:.200}" for i, (a, b) in enumerate(pairs) if not same(a, b)), None
    )


def _form(element: Any) -> str:
    """The nesting of an element, the types of its leaves, and of arrays how many dimensions they have."""
    leaves, structure = flatten(element)
    kinds = [(leaf.dtype, leaf.ndim) if isinstance(leaf, np.ndarray) else type(leaf) for leaf in leaves]
    return f"{structure!r} {kinds}"
