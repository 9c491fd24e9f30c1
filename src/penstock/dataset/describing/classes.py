"""Counts of the distinct values of a leaf, as long as these are few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

MOST_CLASSES = 1000
"""The number of distinct values of a leaf beyond which they are no longer counted."""
LONGEST_CLASS = 64  # characters or bytes of a text that counts as a class

Class: TypeAlias = int | bool | str | bytes


class ClassCounts:
    """The number of times that each value occurred; nothing more once there are more than `MOST_CLASSES`.

    Which values came first makes no difference: either all are counted, or none.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Class]] = Counter()  # by kind too, since True == 1
        self.too_many = False
        self.unsuited = False  # values that are not classes, such as pixels

    @property
    def is_open(self) -> bool:
        """True while values are counted."""
        return not (self.too_many or self.unsuited)

    def add(self, values: Iterable[Class]) -> None:
        """Count values, each once.

        >>> classes = ClassCounts()
        >>> classes.add([3, 3, "cat"])
        >>> classes.counts()
        {3: 2, 'cat': 1}
        """
        if self.is_open:
            self._counts.update((type(value).__name__, value) for value in values)
            self._limit()

    def add_counts(self, counts: Mapping[Any, int]) -> None:
        """Count values that occurred several times."""
        if self.is_open:
            for value, count in counts.items():
                self._counts[type(value).__name__, value] += count
            self._limit()

    def merge(self, other: ClassCounts) -> None:
        """Add the counts of another."""
        self.too_many |= other.too_many
        self.unsuited |= other.unsuited
        if not self.is_open:
            self._counts.clear()
        else:
            self._counts.update(other._counts)
            self._limit()

    def leave(self) -> None:
        """Stop counting: the values are not classes, such as pixels or long texts."""
        self.unsuited = True
        self._counts.clear()

    def overflow(self) -> None:
        """Count no more: there are too many classes."""
        self.too_many = True
        self._counts.clear()

    def _limit(self) -> None:
        if len(self._counts) > MOST_CLASSES:
            self.overflow()

    def counts(self) -> dict[Class, int]:
        """Return the counts, the most frequent values first, and equally frequent ones in order."""
        kinds = {kind for kind, _ in self._counts}
        shown = {
            (kind, value): value if len(kinds) < 2 or kind != "bool" else str(value) for kind, value in self._counts
        }
        ordered = sorted(self._counts.items(), key=lambda item: (-item[1], item[0][0], item[0][1]))
        return {shown[key]: count for key, count in ordered}

    def state(self) -> Any:
        """Return the counts as JSON data."""
        counts = [[*_as_text(kind, value), count] for (kind, value), count in sorted(self._counts.items())]
        return {"counts": counts, "too_many": self.too_many, "unsuited": self.unsuited}

    @staticmethod
    def of_state(state: Any) -> ClassCounts:
        """Return what `state()` was made of."""
        made = ClassCounts()
        made.too_many, made.unsuited = state["too_many"], state["unsuited"]
        for kind, text, count in state["counts"]:
            made._counts[kind, _from_text(kind, text)] = count
        return made


def _as_text(kind: str, value: Any) -> tuple[str, Any]:
    return kind, value.decode("latin-1") if kind == "bytes" else value


def _from_text(kind: str, text: Any) -> Any:
    return text.encode("latin-1") if kind == "bytes" else text
