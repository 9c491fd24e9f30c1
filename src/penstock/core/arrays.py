"""Array types that the packages exchange."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
"""Row numbers or positions, shape `(k,)`, in any order, repeats allowed."""

Allocate: TypeAlias = Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]]
"""A function that returns fresh memory for an array, given its shape and dtype."""
