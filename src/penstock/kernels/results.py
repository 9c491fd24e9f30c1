"""Results of a function as columns; `reference.results` is the twin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from penstock.kernels import _native


def results_apart(
    function: Callable[[Any], Any],
    elements: list[Any],
    first: Any,
    keys: list[Any] | int | None,
    places: list[NDArray[Any] | None],
) -> list[list[Any] | NDArray[Any]] | None:
    """Return the column of each part of `function(element)` for all elements; `first` is the first result, made before.

    Each result is taken apart before the next is made, so that it need not stay in memory. `keys` are the keys of dicts
    whose values are the parts, the size of tuples, or `None` for results that are one part. A column is the place of
    the part, if that is an array: `int64[k]`, `float64[k]` or `bool[k]` for exactly `int`, `float` or `bool`, which the
    caller has found in the first result, or `(k, ...)` for contiguous arrays of its dtype, which must not be objects.
    For `None` it is a list of texts, bytes, complex numbers, arrays, or immutable scalars of NumPy, all of one type.

    The result is `None` if a part has another type or does not fit, if an element is a tuple, and if a call fails: the
    places then have any content.

    >>> import numpy as np
    >>> elements = [{"n": 3, "name": "a"}, {"n": 4, "name": "b"}]
    >>> results_apart(dict, elements, elements[0], ["name", "n"], [None, np.zeros(2, np.int64)])
    [['a', 'b'], array([3, 4])]
    >>> results_apart(dict, [*elements, {"n": 5}], elements[0], ["name", "n"], [None, np.zeros(3, np.int64)]) is None
    True
    """
    return _native.results_apart(function, elements, first, keys, places)
