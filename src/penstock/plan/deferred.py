"""Marks of nodes with many parts, made when somebody asks for them: a piece that changes one part costs no more."""

from __future__ import annotations

from typing import Any, cast

from penstock.plan.flow import Mark

FEWEST = 16  # changes after which the parts are copied


class Deferred:
    """The marks of some parts as they were after a number of changes; `settled` makes JSON data of them."""

    __slots__ = ("_before", "_changes", "_count")

    def __init__(self, before: dict[int, Mark], changes: list[tuple[int, Mark]], count: int) -> None:
        self._before = before
        self._changes = changes
        self._count = count

    def told(self) -> list[Mark]:
        """The mark of each part, `None` where there is none, up to the last that has one."""
        parts = self._before | dict(self._changes[: self._count])
        last = max((number for number, mark in parts.items() if mark is not None), default=-1)
        return [settled(parts.get(number)) for number in range(last + 1)]


class Parts:
    """The marks of numbered parts, of which one changes at a time.

    All are copied once in as many changes as there are parts, so that a change takes constant time on average.

    >>> parts = Parts()
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
        """Say where a part stands now; `None` where it is gone."""
        if mark is None:
            self._parts.pop(number, None)
        else:
            self._parts[number] = mark
        self._changes.append((number, mark))
        if len(self._changes) >= max(len(self._parts), FEWEST):
            self._before, self._changes = dict(self._parts), []

    @property
    def now(self) -> Deferred:
        """The marks of all, as they are now."""
        return Deferred(self._before, self._changes, len(self._changes))


def settled(mark: Mark) -> Mark:
    """The mark as JSON data."""
    if isinstance(mark, Deferred):
        return mark.told()
    if isinstance(mark, list):
        return [settled(part) for part in cast("list[Any]", mark)]
    return mark
