"""Marks of nodes with many parts, built on request: a piece that changes one part does no more work."""

from __future__ import annotations

from typing import Any, cast

from penstock.plan.types import Mark

FEWEST = 16  # changes after which the parts are copied


class Deferred:
    """The marks of some parts after a number of changes; `settled` turns the marks into JSON data."""

    __slots__ = ("_before", "_changes", "_count")

    def __init__(self, before: dict[int, Mark], changes: list[tuple[int, Mark]], count: int) -> None:
        self._before = before
        self._changes = changes
        self._count = count

    def told(self) -> list[Mark]:
        """Return the mark of each part, `None` for parts without one, up to the last part that has one."""
        parts = self._before | dict(self._changes[: self._count])
        last = max((number for number, mark in parts.items() if mark is not None), default=-1)
        return [settled(parts.get(number)) for number in range(last + 1)]


class PartMarks:
    """The marks of numbered parts that change one at a time.

    All marks are copied once per as many changes as there are parts, so a change takes constant time on average.

    >>> parts = PartMarks()
    >>> parts.change(1, 70)
    >>> before = parts.now
    >>> parts.change(0, 80)
    >>> settled([before, parts.now])
    [[None, 70], [80, 70]]
    """

    def __init__(self) -> None:
        self._parts: dict[int, Mark] = {}
        self._before: dict[int, Mark] = {}
        self._changes: list[tuple[int, Mark]] = []

    def change(self, number: int, mark: Mark) -> None:
        """Set the mark of a part; `None` removes the part."""
        if mark is None:
            self._parts.pop(number, None)
        else:
            self._parts[number] = mark
        self._changes.append((number, mark))
        if len(self._changes) >= max(len(self._parts), FEWEST):
            self._before, self._changes = dict(self._parts), []

    @property
    def now(self) -> Deferred:
        """The current marks of all parts."""
        return Deferred(self._before, self._changes, len(self._changes))


def settled(mark: Mark) -> Mark:
    """Return the mark as JSON data."""
    if isinstance(mark, Deferred):
        return mark.told()
    if isinstance(mark, list):
        return [settled(part) for part in cast("list[Any]", mark)]
    return mark
