"""A declarative element operation: frozen data, callable on one element, with at most one random draw."""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, ClassVar

from penstock.elements.spec import Spec

if TYPE_CHECKING:
    from numpy.random import Generator


class Operation:
    """One step of the work on an element. Subclasses are frozen dataclasses, each with a factory of its `name`.

    An operation with `random` takes one raw 64-bit draw from `rng` and expands it itself, so that native kernels can
    reproduce it; without an `rng` each call makes a new draw. The first `arguments` fields are positional in the
    factory.
    """

    name: ClassVar[str]
    random: ClassVar[bool] = False
    arguments: ClassVar[int] = 1

    def __call__(self, value: Any, *, rng: Generator | None = None) -> Any:
        return self.apply(value, self._draw(rng) if self.random else 0)

    def apply(self, value: Any, draw: int) -> Any:
        """Return the result for one element, under one 64-bit draw."""
        raise NotImplementedError

    def spec(self, spec: Spec) -> Spec | None:
        """Return the spec of the result for an element of the given spec, or `None` if unknown."""
        raise NotImplementedError

    def drawn(self, value: Any, draw: int) -> str:
        """Return in words what a draw decides for an element, such as the box of a crop; empty if it decides nothing.

        The element is one for which `apply` returns a result.
        """
        return ""

    def _draw(self, rng: Generator | None) -> int:
        if rng is None:
            from numpy.random import default_rng

            rng = default_rng()
        return int(rng.bit_generator.random_raw())

    def __repr__(self) -> str:
        parts: list[str] = []
        for position, part in enumerate(fields(self)):  # pyright: ignore[reportArgumentType]
            value = getattr(self, part.name)
            if position < self.arguments:
                parts.append(repr(value))
            elif part.default is MISSING or value != part.default:
                parts.append(f"{part.name}={value!r}")
        return f"{self.name}({', '.join(parts)})"
