"""Find the changes that a call makes to the objects of a function, by comparing them before and after it."""

from __future__ import annotations

import gc
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.plan.safety.instructions import Known

WHOLE = 1 << 18  # bytes of an array that is compared as a whole; larger arrays are sampled
SAMPLES, SAMPLE = 32, 1 << 12
_MOST_ITEMS = 256
_WATCHED = 8
"""Calls after which results that something else holds, such as rows of a table, count as constant."""


class Snapshot:
    """The objects at one moment, with all their attributes and items."""

    def __init__(self, objects: Iterable[Known]) -> None:
        self._states = {(id(known.thing), ""): (known.name, known.thing, _content(known.thing)) for known in objects}
        for known in list(objects):
            for name, value in _attributes(known.thing).items():
                self._states[id(known.thing), name] = (f"{known.name}.{name}", value, _content(value))

    def changed(self, after: Snapshot) -> str | None:
        """Return the name of an object that was replaced or modified between this look and the look `after`."""
        for key, (name, thing, content) in self._states.items():
            if key not in after._states:
                return name
            _, now, content_now = after._states[key]
            if now is not thing:
                if thing is not None:
                    return name
            elif not _has_grown(content, content_now):
                return name
        return None

    def has_new(self, after: Snapshot) -> bool:
        """Return True if attributes `after` were absent or `None` before: the first call made them."""
        return any(
            key not in self._states or (self._states[key][1] is None and state[1] is not None)
            for key, state in after._states.items()
        )


class Results:
    """Parts of a function's first results that something else holds, as they were at that time."""

    def __init__(self) -> None:
        self._kept: list[tuple[Any, Any]] = []
        self._calls = 0

    def keep(self, parts: list[Any]) -> bool:
        """Add parts of another result; return whether the next call can still tell something."""
        self._kept += [(part, _look(part)) for part in parts]
        self._calls += 1
        return bool(parts) and self._calls < _WATCHED

    def changed(self) -> bool:
        """Return whether some part has been written to."""
        return any(not _has_stayed(look, _look(part)) for part, look in self._kept)


def _look(part: Any) -> Any:
    """Return a value that changes when a part of a result is modified: a number, or the parts of the part."""
    if type(part).__module__.partition(".")[0] == "torch":
        part = _array_of(part)
    if isinstance(part, np.ndarray | np.void):
        array = np.asarray(part)
        return array.ravel().tolist() if array.dtype.hasobject else _sum_of(np.ascontiguousarray(array))
    if isinstance(part, dict):
        return list(part.values())
    return list(part) if isinstance(part, list | deque) else list(_attributes(part).values())


def _array_of(tensor: Any) -> Any:
    """Return a tensor as an array, or its count of writes if NumPy cannot view it, as one of bfloat16."""
    try:
        return tensor.detach().cpu().numpy()
    except (TypeError, RuntimeError):
        return np.asarray(0 if tensor.is_inference() else tensor._version)  # noqa: SLF001 - PyTorch documents it


def _has_stayed(before: Any, after: Any) -> bool:
    if not isinstance(before, list):
        return before == after
    return len(before) == len(after) and all(one is other for one, other in zip(before, after, strict=True))


def kept_by(cached: Any) -> Iterator[Any]:
    """Yield the results that `functools.cache` or `lru_cache` has kept, with keys, found by the garbage collector.

    >>> import functools
    >>> @functools.cache
    ... def table(size):
    ...     return [0] * size
    >>> result = table(2)
    >>> any(held is result for held in kept_by(table))
    True
    """
    own = getattr(cached, "__dict__", None)
    for held in gc.get_referents(cached):
        if type(held) is dict and held is not own:  # the cache itself, which holds results or links to them
            yield from (result for result in list(held.values()) if type(result).__name__ != "_lru_list_elem")
        elif held is not own and type(held) is not object:
            yield held


def _attributes(thing: Any) -> dict[str, Any]:
    try:
        return dict(object.__getattribute__(thing, "__dict__"))
    except (AttributeError, RuntimeError):  # no such object, or another thread is adding one
        return {}


def _content(thing: Any) -> Any:
    """Return a value that changes when an array or a list is modified; `None` for other objects."""
    if type(thing) is np.ndarray:
        return _sum_of(thing) if thing.flags.writeable and not thing.dtype.hasobject else None
    if isinstance(thing, bytearray):
        return zlib.crc32(thing)
    if isinstance(thing, list):
        return list(islice(thing, _MOST_ITEMS))
    return None


def _sum_of(array: np.ndarray) -> int | None:
    if isinstance(array.base, np.memmap) or not array.flags.c_contiguous or not array.size:
        return None
    data = memoryview(cast("bytearray", array.reshape(-1).view(np.uint8)))
    if len(data) <= WHOLE:
        return zlib.crc32(data)
    total, step = 0, len(data) // SAMPLES
    for low in range(0, len(data), step):
        total = zlib.crc32(data[low : low + SAMPLE], total)
    return total


def _has_grown(before: Any, after: Any) -> bool:
    """Return True if everything that existed before still does."""
    if not isinstance(before, list):
        return before == after
    return len(before) <= len(after) and all(one is other for one, other in zip(before, after, strict=False))
