"""The array types that travel between rooms."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
"""Row numbers or positions, shape `(k,)`, in any order, repeats allowed."""
