"""The dtypes, shapes and types that the values of one leaf had."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

MOST_LEAF_FORMS = 24
OTHERS = "others"


class Forms:
    """Counts by dtype and number of dimensions, with the least and the largest size of each dimension."""

    def __init__(self) -> None:
        self._forms: dict[tuple[str, int], tuple[int, tuple[int, ...], tuple[int, ...]]] = {}

    def add(self, name: str, shape: tuple[int, ...] = (), count: int = 1) -> None:
        """Count values of a dtype or type and a shape."""
        self._add(name, len(shape), count, shape, shape)

    def merge(self, other: Forms) -> None:
        """Add the counts of another."""
        for (name, ndim), form in other._forms.items():
            self._add(name, ndim, *form)

    def _add(self, name: str, ndim: int, count: int, low: tuple[int, ...], high: tuple[int, ...]) -> None:
        key = name, ndim
        before = self._forms.get(key)
        if before is None and len(self._forms) >= MOST_LEAF_FORMS:
            key, low, high = (OTHERS, 0), (), ()
            before = self._forms.get(key)
        if before is None:
            self._forms[key] = count, low, high
        elif before[1] == low and before[2] == high:
            self._forms[key] = before[0] + count, low, high
        else:
            least, most = tuple(map(min, before[1], low)), tuple(map(max, before[2], high))
            self._forms[key] = before[0] + count, least, most

    def texts(self) -> Iterator[tuple[str, int]]:
        """Yield each form in words with its count, the most frequent first.

        >>> forms = Forms()
        >>> forms.add("uint8", (32, 48, 3))
        >>> forms.add("uint8", (40, 48, 3))
        >>> list(forms.texts())
        [('uint8[32…40, 48, 3]', 2)]
        """
        for (name, ndim), (count, low, high) in sorted(self._forms.items(), key=lambda item: -item[1][0]):
            sizes = ", ".join(str(a) if a == b else f"{a}…{b}" for a, b in zip(low, high, strict=True))
            yield f"{name}[{sizes}]" if ndim else name, count

    def state(self) -> Any:
        """Return the counts as JSON data."""
        return [[name, count, low, high] for (name, _), (count, low, high) in self._forms.items()]

    @staticmethod
    def of_state(state: Any) -> Forms:
        """Return what `state()` was made of."""
        made = Forms()
        for name, count, low, high in state:
            made._forms[name, len(low)] = count, tuple(low), tuple(high)
        return made
