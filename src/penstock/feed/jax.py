"""Elements as JAX arrays, which share the batch's memory if JAX allows it."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.core.lazy import require
from penstock.elements.ragged import Ragged
from penstock.elements.sparse import Sparse
from penstock.feed.feed import FrameworkFeed, Iterable

NARROWED = {"int64", "uint64", "float64", "complex128"}


class JaxFeed(FrameworkFeed):
    """A dataset whose iterators yield JAX arrays on the CPU device.

    Memory is shared by DLPack if the array is contiguous and writable, as batches are, and JAX has its type enabled;
    other arrays are copied by `jax.numpy.asarray`, which narrows 64-bit types unless `jax_enable_x64` is set. A batch
    that JAX shares must not be written to. `ps.Sparse` becomes a `BCOO`; `ps.Ragged` has no equivalent in JAX and is
    unchanged.
    """

    def __init__(self, dataset: Iterable) -> None:
        jax = require("jax", extra="jax", purpose="to_jax()")
        numpy, dlpack = (
            require("jax.numpy", extra="jax", purpose="to_jax()"),
            require("jax.dlpack", extra="jax", purpose="to_jax()"),
        )
        cpu = jax.devices("cpu")[0]

        def convert(array: np.ndarray | Ragged | Sparse) -> Any:
            if isinstance(array, Ragged | Sparse):
                return array.to_jax() if isinstance(array, Sparse) else array
            wide = array.dtype.name in NARROWED and not jax.config.jax_enable_x64
            shared = array.ndim > 0 and array.flags.writeable and array.dtype.isnative and not wide
            if not shared or not array.flags.c_contiguous or array.dtype.kind in "bV":
                with jax.default_device(cpu):
                    return numpy.asarray(array)
            return dlpack.from_dlpack(array)

        super().__init__(dataset, convert)
