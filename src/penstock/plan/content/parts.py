"""The named parts of a content key, collected while values are digested."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


class KeyParts:
    """The parts found so far, and functions that add the parts of what other parts refer to.

    A part has a name that a message can show, such as `the function normalize`, and a text that is equal for equal
    content. Two things of one name are numbered in the order in which they are found. With `named=False`, functions are
    only numbered, so that those of equal content are equal under other names.
    """

    def __init__(self, *, named: bool = True) -> None:
        self._named = named
        self.texts: dict[str, str] = {}
        self._names: dict[
            int, tuple[Any, str]
        ] = {}  # by identity; holding the things keeps their ids from being reused
        self._taken: set[str] = set()
        self._waiting: list[Callable[[], None]] = []

    def add(self, name: str, text: str) -> None:
        """Add a part of this name, numbered if the name is taken."""
        self.texts[self._free(name)] = text

    def refer(self, thing: Any, name: str, describe: Callable[[str], None]) -> str:
        """Return the name of the part of a thing; the first time, `describe` is to add the part later."""
        known = self._names.get(id(thing))
        if known is None:
            name = "the function" if isinstance(thing, FunctionType) and not self._named else name
            known = self._names[id(thing)] = thing, self._free(name)
            self._waiting.append(lambda: describe(known[1]))
        return known[1]

    def put(self, name: str, text: str) -> None:
        """Add the part that `refer` has named."""
        self.texts[name] = text

    @property
    def things(self) -> dict[str, Any]:
        """The things that parts were named for, by name: functions, classes, modules."""
        return {name: thing for thing, name in self._names.values()}

    def complete(self) -> None:
        """Add the parts of everything that other parts refer to."""
        while self._waiting:
            self._waiting.pop()()

    def _free(self, name: str) -> str:
        free, number = name, 1
        while free in self._taken:
            number += 1
            free = f"{name} ({number})"
        self._taken.add(free)
        return free
