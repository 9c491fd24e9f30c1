"""A cache of recent values, limited in bytes: each value is made once for all threads."""

from __future__ import annotations

import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """An object with a size in bytes."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Sized)


class Recent(Generic[T]):
    """The most recently requested values of `make(key)`: at most `most_bytes`, and at least one value.

    Values that another thread is waiting for stay, up to the same number of bytes again: it would make them anew. Any
    thread may call. While one thread makes a value, other threads make values that are not begun, and wait only for
    the rest. An error of `make` is raised in the calling thread; other threads call `make` again.

    >>> recent = Recent(np.zeros, most_bytes=100)
    >>> [(key, len(value)) for key, value in recent.each([5, 9, 5])], recent.nbytes
    ([(5, 5), (9, 9)], 72)
    """

    def __init__(self, make: Callable[[int], T], most_bytes: int) -> None:
        self._make = make
        self._most = most_bytes
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._ready: OrderedDict[int, tuple[T, int]] = OrderedDict()
        self._making: set[int] = set()
        self._awaited: Counter[int] = Counter()  # by calls of `each` under way
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """The number of bytes of the cached values."""
        return self._bytes

    def missing(self, keys: Iterable[int]) -> list[int]:
        """Return those of `keys` whose values are not cached."""
        with self._changed:
            return [key for key in keys if key not in self._ready]

    def each(self, keys: Iterable[int]) -> Iterator[tuple[int, T]]:
        """Yield each of `keys` once, with its value, cached ones first."""
        for found in self.groups(keys):
            yield from found.items()

    def groups(self, keys: Iterable[int]) -> Iterator[dict[int, T]]:
        """Yield the values of `keys` together if they are cached, and each other one once it is made."""
        if self._process != os.getpid():
            self._begin()  # the threads that were making values are in the parent process
        asked = list(dict.fromkeys(keys))
        with self._changed:
            found = self._at_hand(asked)
            missing = [key for key in asked if key not in found] if len(found) < len(asked) else []
            self._awaited.update(missing)
        try:
            if found:
                yield found
            while missing:
                with self._changed:
                    found = self._at_hand(missing)
                    missing = [key for key in missing if key not in found]
                    self._awaited.subtract(list(found))
                    self._make_room()
                if found:
                    yield found
                if missing and (key := self._claim(missing)) is not None:
                    missing.remove(key)
                    yield {key: self._made(key)}
        finally:
            if missing:  # an error, or a caller that takes no more
                with self._changed:
                    self._awaited.subtract(missing)

    def retire(self, key: int) -> None:
        """Let a value go before all others, since nobody is expected to request it soon."""
        with self._changed:
            if key in self._ready:
                self._ready.move_to_end(key, last=False)

    def _at_hand(self, keys: list[int]) -> dict[int, T]:
        found = {key: self._ready[key][0] for key in keys if key in self._ready}
        for key in found:
            self._ready.move_to_end(key)
        return found

    def _claim(self, keys: list[int]) -> int | None:
        """Return a key that no thread is working on, or `None` after a wait in which a value was completed."""
        with self._changed:
            if any(key in self._ready for key in keys):
                return None
            key = next((key for key in keys if key not in self._making), None)
            if key is None:
                self._changed.wait()
            else:
                self._making.add(key)
                self._awaited[key] -= 1  # by those who wait for this thread, only
            return key

    def _made(self, key: int) -> T:
        try:
            value = self._make(key)
        except BaseException:
            with self._changed:
                self._making.discard(key)
                self._changed.notify_all()
            raise
        self.keep(key, value)
        return value

    def keep(self, key: int, value: T) -> None:
        """Cache a value as if it were made now."""
        with self._changed:
            self._making.discard(key)
            size = value.nbytes
            self._bytes += size - self._ready.pop(key, (value, 0))[1]
            self._ready[key] = value, size
            self._make_room()
            self._changed.notify_all()

    def _make_room(self) -> None:
        if self._bytes <= self._most:
            return
        self._awaited = +self._awaited  # without keys that nobody waits for
        for key in [key for key in list(self._ready)[:-1] if key not in self._awaited]:
            if self._bytes <= self._most:
                return
            self._bytes -= self._ready.pop(key)[1]
        while self._bytes > 2 * self._most and len(self._ready) > 1:
            self._bytes -= self._ready.popitem(last=False)[1][1]
