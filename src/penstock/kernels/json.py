"""Parse the objects of JSON lines; Python's `json` is the reference, and handles the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import _native


def parse_objects(
    data: NDArray[np.uint8] | bytes, splits: NDArray[np.int64], names: list[str] | None = None
) -> tuple[list[dict[str, Any] | None], list[int]]:
    """Return the JSON object on each line of `data` (line i is from `splits[i]` to `splits[i + 1]`), in UTF-8.

    With `names`, objects have only those keys. Lines that are not objects, not UTF-8, or not plain (numbers beyond 64
    bits, `NaN`, lone surrogates, more than 64 levels) are left to the caller: `None` in the first list, and their
    numbers in the second.

    >>> parse_objects(b'{"a": [1, 2.5]}{"a": NaN}', np.array([0, 15, 25]))
    ([{'a': [1, 2.5]}, None], [1])
    """
    return _native.parse_json(data, splits, names)
