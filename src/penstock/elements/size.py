"""About how much memory an element takes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from penstock.elements.structure import flatten


def bytes_of(element: Any) -> int:
    """Return the bytes of an element's leaves: arrays by what they hold, other objects by themselves alone.

    >>> import numpy as np
    >>> bytes_of({"x": np.zeros(3), "y": np.zeros(2, np.uint8)})
    26
    """
    return sum(getattr(leaf, "nbytes", None) or sys.getsizeof(leaf) for leaf in flatten(element)[0]) or 1


def own_bytes_of(element: Any) -> int:
    """Return the same without arrays that cannot be written to, which are views of what somebody else holds.

    >>> import numpy as np
    >>> view = np.zeros(3)
    >>> view.flags.writeable = False
    >>> own_bytes_of({"x": view, "y": np.zeros(2, np.uint8)})
    2
    """
    leaves = [leaf for leaf in flatten(element)[0] if not (isinstance(leaf, np.ndarray) and not leaf.flags.writeable)]
    return bytes_of(leaves) if leaves else 0
