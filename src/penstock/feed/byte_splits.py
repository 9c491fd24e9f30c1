"""Many arrays moved to a device of JAX as one: one transfer and a compiled split take less time than one for each."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.core.arrays import Reserve
from penstock.feed.parcel import Cargo, cargo_of

MANY = 4  # arrays of a batch
_MOST_LAYOUTS = 16  # compiled splits that are kept

ByteLayout: TypeAlias = tuple[tuple[int, tuple[int, ...], str], ...]
"""Where each array of a batch begins, its shape, and its dtype."""


class ByteSplits:
    """Moves many arrays to one device as one array of bytes, and splits it there by a compiled function."""

    def __init__(self, jax: Any, sharding: Any, reserve: Reserve | None = None) -> None:
        self._jax = jax
        self._sharding = sharding
        self._reserve = reserve or _unpinned
        self._last: ByteLayout | None = None
        self._compiled: OrderedDict[ByteLayout, Callable[[Any], list[Any]]] = OrderedDict()

    def placed(self, arrays: Sequence[NDArray[Any]]) -> list[Any] | None:
        """Return the arrays on the device; `None` if they are few, or differ from those of the batch before."""
        if len(arrays) < MANY or any(array.dtype.kind == "c" for array in arrays):
            return None
        layout = tuple((array.nbytes, array.shape, array.dtype.name) for array in arrays)
        recurs, self._last = layout == self._last, layout
        if not recurs and layout not in self._compiled:
            return None
        cargo = cargo_of(arrays, self._reserve)
        return self._split(cargo, arrays)(self._jax.device_put(cargo.memory, self._sharding))

    def _split(self, cargo: Cargo, arrays: Sequence[NDArray[Any]]) -> Callable[[Any], list[Any]]:
        pairs = zip(cargo.begins, arrays, strict=True)
        layout = tuple((begin, array.shape, array.dtype.name) for begin, array in pairs)
        found = self._compiled.pop(layout, None)
        if found is None:
            found = self._jax.jit(partial(split_bytes, self._jax, layout))
            while len(self._compiled) >= _MOST_LAYOUTS:
                self._compiled.popitem(last=False)
        self._compiled[layout] = found
        return found


def split_bytes(jax: Any, layout: ByteLayout, memory: Any) -> list[Any]:
    """Return the arrays that lie in an array of bytes; `layout` says where."""
    made: list[Any] = []
    for begin, shape, name in layout:
        dtype = np.dtype(bool) if name == "bool" else jax.numpy.dtype(name)
        count = int(np.prod(shape, dtype=np.int64))
        taken = jax.lax.slice(memory, (begin,), (begin + count * dtype.itemsize,))
        if name == "bool":
            made.append(taken.reshape(shape).astype(bool))
        elif dtype.itemsize == 1:
            made.append(jax.lax.bitcast_convert_type(taken.reshape(shape), dtype))
        else:
            made.append(jax.lax.bitcast_convert_type(taken.reshape(*shape, dtype.itemsize), dtype))
    return made


def _unpinned(nbytes: int) -> NDArray[np.uint8]:
    return np.empty(nbytes, np.uint8)
