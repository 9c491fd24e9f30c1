"""A random generator that draws the same as another, and keeps a text of each call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

MOST_CALLS = 6
_LONGEST = 40  # characters of an argument or a result


class RecordingGenerator(Generator):
    """The generator of one row under the key of an operation, with the texts of its first calls.

    >>> from numpy.random import Philox
    >>> rng = RecordingGenerator(Philox(key=[7, 3]), 7, 3)
    >>> int(rng.integers(10)) == int(Generator(Philox(key=[7, 3])).integers(10))
    True
    >>> str(rng.draws)
    'Philox(key=[7, 3]): integers(10) = 5'
    """

    def __init__(self, bit_generator: Any, key: int = 0, row: int = 0) -> None:
        super().__init__(bit_generator)
        self.draws = Draws(key, row)
        self.within = ""
        """The call that made this generator of another, with a dot; its calls are among those of the other."""
        self.is_called = False

    def spawn(self, n_children: int) -> list[Generator]:
        made = super().spawn(n_children)
        self.draws.note(f"{self.within}spawn", (n_children,), {}, None)
        for at, child in enumerate(made):
            if isinstance(child, RecordingGenerator):
                child.draws, child.within = self.draws, f"{self.within}spawn({n_children})[{at}]."
        return made


class Draws:
    """The calls of the generator that an operation received for one row."""

    def __init__(self, key: int, row: int) -> None:
        self.key = key
        self.row = row
        self.calls: list[str] = []
        self.count = 0
        self.words = ""

    def note(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Keep the text of a call."""
        self.count += 1
        if len(self.calls) < MOST_CALLS:
            given = [*map(_short, args), *(f"{key}={_short(value)}" for key, value in kwargs.items())]
            made = "" if result is None else f" = {_short(result)}"
            self.calls.append(f"{name}({', '.join(given)}){made}")

    def __str__(self) -> str:
        more = [f"and {self.count - len(self.calls)} more"] if self.count > len(self.calls) else []
        told = ", ".join([self.words] if self.words else [*self.calls, *more])
        return f"Philox(key=[{self.key}, {self.row}])" + (f": {told}" if told else "")


def _recorded(name: str) -> Callable[..., Any]:
    method = getattr(Generator, name)

    def call(self: RecordingGenerator, *args: Any, **kwargs: Any) -> Any:
        if self.is_called:  # by another method, such as `permutation`
            return method(self, *args, **kwargs)
        self.is_called = True
        try:
            result = method(self, *args, **kwargs)
        finally:
            self.is_called = False
        self.draws.note(f"{self.within}{name}", args, kwargs, result)
        return result

    call.__name__ = name
    return call


for _name in dir(Generator):
    if not _name.startswith("_") and _name != "spawn" and callable(getattr(Generator, _name)):
        setattr(RecordingGenerator, _name, _recorded(_name))


def _short(value: Any) -> str:
    text = np.array2string(value, threshold=6, separator=", ") if isinstance(value, np.ndarray) else repr(value)
    if isinstance(value, np.generic):
        text = str(value.item())
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
