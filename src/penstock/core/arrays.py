"""Array types that the packages exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
"""Row numbers or positions, shape `(k,)`, in any order, repeats allowed."""

Allocate: TypeAlias = Callable[[tuple[int, ...], np.dtype[Any]], NDArray[Any]]
"""A function that returns fresh memory for an array, given its shape and dtype."""

Reserve: TypeAlias = Callable[[int], NDArray[np.uint8]]
"""A function that returns that many bytes of memory, at an address divisible by 64, for as long as they are held."""

ArrayKind: TypeAlias = tuple[tuple[int, ...], np.dtype[Any]]
"""The shape and dtype of an array."""

AllocateAll: TypeAlias = Callable[[Sequence[ArrayKind]], list[NDArray[Any]]]
"""A function that returns fresh memory for several arrays that belong together."""
