"""Find the changes that a call makes to the objects of a function, by comparing them before and after it."""

from __future__ import annotations

import array
import gc
import sys
import types
import zlib
from collections import UserDict, UserList, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, cast

import numpy as np

from penstock.plan.safety.attributes import is_library, is_torch_module
from penstock.plan.safety.instructions import Known

WHOLE = 1 << 18  # bytes of an array that is compared as a whole; larger arrays are sampled
SAMPLES, SAMPLE = 32, 1 << 12
_MOST_ITEMS = 256
_DEEPEST = 8  # attributes and items within others
_MOST_STATES = 2048
_MOST_BYTES = 1 << 24  # of arrays that are compared
_HOLDS_BYTES = (bytearray, array.array)
_PLAIN = frozenset([type(None), bool, int, float, complex, str, bytes])
_WATCHED = 8
"""Calls after which results that something else holds, such as rows of a table, count as constant."""


class Snapshot:
    """The objects at one moment, with their attributes and items, and with those of the user's objects among them."""

    def __init__(self, objects: Iterable[Known]) -> None:
        self._states: dict[tuple[int, Any], tuple[str, Any, Any]] = {}
        self._looked_into = set[int]()
        self._bytes_left = _MOST_BYTES
        for known in list(objects):
            self._add(known, (id(known.thing), ""), _DEEPEST)
            self._look_into(known, _DEEPEST)

    def _add(self, known: Known, key: tuple[int, Any], depth: int) -> None:
        thing = known.thing
        array = _in_memory(thing)
        nbytes = 0 if array is None else min(array.nbytes, WHOLE)
        content = _content(thing) if nbytes <= self._bytes_left else None
        self._bytes_left -= nbytes if content is not None else 0
        self._states[key] = (known.name, thing, content)
        if depth and is_looked_into(thing):
            self._look_into(known, depth - 1)

    def _look_into(self, known: Known, depth: int) -> None:
        thing = known.thing
        if id(thing) in self._looked_into or self._is_cut:
            return
        self._looked_into.add(id(thing))
        for name, key, part in _parts(thing):
            if type(part) in _PLAIN:  # most parts are
                self._states[id(thing), key] = (known.name + name, part, None)
            else:
                self._add(Known(part, known.name + name), (id(thing), key), depth)

    @property
    def _is_cut(self) -> bool:
        return len(self._states) >= _MOST_STATES

    def changed(self, after: Snapshot) -> str | None:
        """Return the name of an object that was replaced or modified between this look and the look `after`."""
        for key, (name, thing, content) in self._states.items():
            if key not in after._states:
                if after._is_cut:
                    continue
                return name
            _, now, content_now = after._states[key]
            if now is not thing:
                if thing is not None:
                    return name
            elif content is not None and content_now is not None and not _has_grown(content, content_now):
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
        return np.asarray(_writes_of(tensor) or 0)


def _in_memory(thing: Any) -> np.ndarray | None:
    """Return an array, a tensor or bytes as one; `None` of other objects, and of tensors that NumPy cannot view."""
    if isinstance(thing, np.ndarray):
        return thing
    if isinstance(thing, _HOLDS_BYTES):
        return np.frombuffer(thing, np.uint8) if len(thing) else None
    if not is_tensor(thing) or not thing.is_cpu or thing.layout is not sys.modules["torch"].strided:
        return None
    try:
        return thing.detach().numpy()
    except (TypeError, RuntimeError):
        return None


def _writes_of(tensor: Any) -> int | None:
    """Return PyTorch's count of writes into a tensor; `None` of other objects, and of tensors that have no count."""
    try:
        return None if tensor.is_inference() else tensor._version  # noqa: SLF001 - PyTorch documents it
    except AttributeError:
        return None


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


def is_looked_into(thing: Any) -> bool:
    """Return whether the attributes or items of an object are looked at: of containers, and of the user's objects."""
    cls = type(thing)
    if issubclass(cls, dict | list | tuple | deque | UserDict | UserList | types.SimpleNamespace):
        return True
    is_other = issubclass(cls, type | types.ModuleType | types.FunctionType | np.ndarray | np.generic)
    return not is_other and cls.__dictoffset__ != 0 and (is_torch_module(thing) or not is_library(cls.__module__))


def is_watched(thing: Any) -> bool:
    """Return whether a call may be seen to change an object, its attributes or its items."""
    return is_tensor(thing) or is_looked_into(thing) or isinstance(thing, _HOLDS_BYTES) or _is_generator(thing)


def is_tensor(thing: Any) -> bool:
    """Return whether an object is a tensor of PyTorch; nothing is imported."""
    return type(thing).__module__.partition(".")[0] == "torch" and hasattr(type(thing), "is_inference")


def _is_generator(thing: Any) -> bool:
    """Return whether an object is a generator of `random`, which has a state; nothing is imported."""
    module: Any = sys.modules.get("random")
    return module is not None and isinstance(thing, module.Random) and not isinstance(thing, module.SystemRandom)


def _parts(thing: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the first attributes and items of an object: name, key, and what is there."""
    for name, value in islice(_attributes(thing).items(), _MOST_ITEMS):
        yield f".{name}", name, value
    if isinstance(thing, dict):
        for key, value in _first_items(cast("dict[Any, Any]", thing)):
            yield "[...]", (id(key),), value
    elif isinstance(thing, list | tuple | deque):
        for at, value in enumerate(islice(list(thing), _MOST_ITEMS)):
            if type(value) not in _PLAIN:
                yield "[...]", at, value


def _first_items(thing: dict[Any, Any]) -> list[tuple[Any, Any]]:
    try:
        return list(islice(dict.items(thing), _MOST_ITEMS))
    except RuntimeError:  # another thread is adding one
        return []


def _content(thing: Any) -> Any:
    """Return a value that changes when an array, tensor, list or generator is modified; `None` for other objects."""
    if is_tensor(thing):
        array = _in_memory(thing)
        return _writes_of(thing), None if array is None else _sum_of(array)
    if isinstance(thing, np.ndarray) and not isinstance(thing, np.memmap | np.ma.MaskedArray):
        return _sum_of(thing) if thing.flags.writeable and not thing.dtype.hasobject else None
    if isinstance(thing, _HOLDS_BYTES):
        data = memoryview(thing).cast("B")
        return zlib.crc32(data) if len(data) <= _MOST_BYTES else _sum_of(np.frombuffer(data, np.uint8))
    if _is_generator(thing):
        return hash(cast("Any", thing).getstate())
    if isinstance(thing, list | deque):
        return thing[:_MOST_ITEMS] if isinstance(thing, list) else list(thing)[:_MOST_ITEMS]
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
