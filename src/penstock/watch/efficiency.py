"""The share of packed sequences that is tokens."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.core.errors import ElementError


def pack_efficiency(batch: Any) -> float:
    """Return the share of positions, in a packed sequence or a batch of them, that hold tokens and not padding.

    `batch` is an element of `Dataset.pack`, batched or not, or its `segment_ids` alone, an array of any shape. Without
    any position the share is 1.

    >>> ds = Dataset.from_source([np.arange(3), np.arange(4), np.arange(2)]).pack(6)
    >>> pack_efficiency(next(iter(ds.batch(2))))
    0.75
    """
    if isinstance(batch, dict):
        if "segment_ids" not in batch:
            raise ElementError(
                f'pack_efficiency: there is no "segment_ids" in {list(batch)}; pass an element of pack()'
            )
        batch = batch["segment_ids"]
    segment_ids = np.asarray(batch)
    if segment_ids.ndim == 0 or (segment_ids.size and segment_ids.dtype.kind not in "iu"):
        kind = type(batch).__name__
        raise TypeError(f"pack_efficiency(batch=): expected an element of pack(), or its segment_ids, not {kind}")
    return int(np.count_nonzero(segment_ids)) / segment_ids.size if segment_ids.size else 1.0
