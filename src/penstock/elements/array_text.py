"""Arrays as text, masked ones too."""

from __future__ import annotations

from typing import Any

import numpy as np

_HIDDEN = object()


def array_text(array: np.ndarray, **form: Any) -> str:
    """Return `np.array2string(array, **form)`, with `--` for each value that is masked.

    >>> array_text(np.ma.masked_array([1, 2, 3], mask=[False, True, False]), separator=", ")
    '[1, --, 3]'
    """
    if not isinstance(array, np.ma.MaskedArray):
        return np.array2string(array, **form)
    # NumPy would give the mask's constant to the formats of numbers, which warn or show another number

    def shown(value: Any) -> str:
        return "--" if value is _HIDDEN else np.array2string(np.asarray(value, array.dtype), **form)

    values = np.empty(array.shape, object)
    values[...] = array.data
    values[np.ma.getmaskarray(array)] = _HIDDEN
    return np.array2string(values, **form, formatter={"object": shown})
