"""The last iterator that a function returned, which must not return the same one again."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.core.errors import ElementError


@dataclass(slots=True)
class LastPass:
    """The iterator of the last pass of an operation, `None` if it is gone, and whether that pass reached its end."""

    operation: str
    iterator: Callable[[], Any] = lambda: None
    ended: bool = False

    def begin(self, iterator: Iterator[Any], *, restored: bool = False) -> bool:
        """Begin a pass over the iterator; return whether it was read to its end, most likely by the last pass.

        Raise an `ElementError` if the last pass left it in the middle. An iterator that was read to its end may begin
        anew by itself, and one that is `restored` receives a position.
        """
        again = self.iterator() is iterator and not restored
        if again and not self.ended:
            raise self._returned_again("begun")
        self.iterator, self.ended = lambda: iterator, False
        with suppress(TypeError):  # keep no iterator alive, except those that take no weak reference, such as map()
            self.iterator = weakref.ref(iterator)
        return again or getattr(iterator, "gi_frame", iterator) is None

    def end(self, iterator: Iterator[Any], *, in_vain: bool) -> ElementError | None:
        """Note that a pass over the iterator reached its end; return an error if an earlier one had, `in_vain` now."""
        if self.iterator() is iterator:
            self.ended = True
        return self._returned_again("read to its end") if in_vain else None

    def _returned_again(self, how: str) -> ElementError:
        return ElementError(
            f"{self.operation}: the function returned the same iterator again, which was already {how}; return a new "
            "one in each call, as a generator function does"
        )
