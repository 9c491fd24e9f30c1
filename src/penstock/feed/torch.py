"""Elements as PyTorch tensors that share the batch's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.core.lazy import require
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.feed.feed import FrameworkFeed, Iterable


class TorchFeed(FrameworkFeed):
    """A dataset whose iterators yield CPU tensors that share the memory of the batch, without a copy.

    A read-only array (an element that is a view of the source's own memory) is copied, since tensors are writable; so
    is an array with a negative stride. Unsigned integers wider than a byte keep their type, which PyTorch supports in
    part. `ps.Ragged` becomes a nested tensor (jagged layout), or is unchanged if it has several ragged dimensions,
    which PyTorch does not support; `ps.Sparse` becomes a sparse COO tensor.

    The feed counts as an `IterableDataset`: `DataLoader(feed, batch_size=None)` yields the same elements, for code that
    expects a DataLoader. Use no DataLoader workers: the pipeline has its own.
    """

    def __init__(self, dataset: Iterable) -> None:
        torch = require("torch", extra="torch", purpose="to_torch()")

        def convert(array: np.ndarray | Ragged | Sparse) -> Any:
            if isinstance(array, Sparse):
                return array.to_torch()
            if isinstance(array, Ragged):
                return array.to_torch() if array.ragged_rank == 1 else array
            whole = array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
            shared = whole.flags.writeable and min(whole.strides, default=0) >= 0
            bits = whole if shared else whole.copy()
            if bits.dtype.kind == "V":  # NumPy has no bfloat16; PyTorch does
                return torch.from_numpy(bits.view(f"u{bits.itemsize}")).view(getattr(torch, bits.dtype.name))
            return torch.from_numpy(bits)

        super().__init__(dataset, convert)
        data = getattr(getattr(torch, "utils", None), "data", None)
        if data is not None:
            data.IterableDataset.register(TorchFeed)  # an abstract class; otherwise a DataLoader requests rows

    def __reduce__(self) -> tuple[Any, ...]:
        return TorchFeed, (self._dataset,)
