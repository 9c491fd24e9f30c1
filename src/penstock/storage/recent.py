"""What was made last, up to so many bytes: each thing made once, whoever asks."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar


class Sized(Protocol):
    """What says how many bytes it holds."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Sized)


class Recent(Generic[T]):
    """The values of `make(key)` that were asked for last, at most `most_bytes` of them and at least one.

    Any thread may ask. While one makes a value the others make what nobody has begun, and wait only for what is left.
    What `make` raises reaches who called it; the others try for themselves.

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
        self._bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return self._bytes

    def __contains__(self, key: int) -> bool:
        """Whether the value is at hand."""
        with self._changed:
            return key in self._ready

    def each(self, keys: Iterable[int]) -> Iterator[tuple[int, T]]:
        """Yield each of `keys` once, with its value, what is at hand first."""
        if self._process != os.getpid():
            self._begin()  # the threads that were making something stayed in the parent
        missing = list(dict.fromkeys(keys))
        while missing:
            found = self._at_hand(missing)
            if found:
                missing = [key for key in missing if key not in found]
                yield from found.items()
                continue
            key = self._claim(missing)
            if key is not None:
                missing.remove(key)
                yield key, self._made(key)

    def _at_hand(self, keys: list[int]) -> dict[int, T]:
        with self._changed:
            found = {key: self._ready[key][0] for key in keys if key in self._ready}
            for key in found:
                self._ready.move_to_end(key)
            return found

    def _claim(self, keys: list[int]) -> int | None:
        """One that nobody makes; `None` when, after a wait, there is something new."""
        with self._changed:
            if any(key in self._ready for key in keys):
                return None
            key = next((key for key in keys if key not in self._making), None)
            if key is None:
                self._changed.wait()
            else:
                self._making.add(key)
            return key

    def _made(self, key: int) -> T:
        try:
            value = self._make(key)
        except BaseException:
            with self._changed:
                self._making.discard(key)
                self._changed.notify_all()
            raise
        with self._changed:
            self._making.discard(key)
            size = value.nbytes
            self._ready[key] = value, size
            self._bytes += size
            while self._bytes > self._most and len(self._ready) > 1:
                self._bytes -= self._ready.popitem(last=False)[1][1]
            self._changed.notify_all()
        return value
