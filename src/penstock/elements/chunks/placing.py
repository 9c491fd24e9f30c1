"""Copy large arrays of elements to their places in a batch as soon as each element is made."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.elements.nested.structure import flatten, unflatten
from penstock.kernels.arrays import copy_array

PLACED_FROM = 1 << 15  # bytes; smaller arrays are copied together, with less Python


def placed_as_made(elements: Iterator[Any], memory: list[np.ndarray], count: int) -> Iterator[Any]:
    """Yield `count` elements with large arrays in their rows of `memory`, an array of shape (count, ...) for each leaf.

    An array is copied while it is in the core's cache, and its own memory serves the next element. An array that does
    not fit stays as it is.

    >>> memory = [np.zeros((2, PLACED_FROM), np.uint8)]
    >>> first, second = placed_as_made(iter([np.ones(PLACED_FROM, np.uint8), np.ones(3)]), memory, 2)
    >>> first.base is memory[0], second
    (True, array([1., 1., 1.]))
    """
    places = [(leaf, array) for leaf, array in enumerate(memory) if _is_for_large(array, count)]
    return _placed(elements, places, len(memory)) if places else elements


def _is_for_large(array: np.ndarray, count: int) -> bool:
    return array.ndim > 1 and len(array) == count and array.nbytes >= PLACED_FROM * count and not array.dtype.hasobject


def _placed(elements: Iterator[Any], places: list[tuple[int, np.ndarray]], count: int) -> Iterator[Any]:
    for row, element in enumerate(elements):
        leaves, structure = flatten(element)
        if len(leaves) != count:
            yield element
            continue
        for leaf, array in places:
            value, place = leaves[leaf], array[row]
            if copy_array(value, place, array.nbytes) or _copied_with_gaps(value, place):
                leaves[leaf] = place
        value = None
        del element  # its memory serves the next element
        yield unflatten(structure, leaves)


def _copied_with_gaps(value: Any, place: np.ndarray) -> bool:
    """Copy an array that has gaps, such as a mirrored image, if it fits; return whether it does."""
    if type(value) is not np.ndarray or value.shape != place.shape or value.dtype != place.dtype:
        return False
    place[...] = value
    return True
