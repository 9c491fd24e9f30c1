"""The weights of a mixture's inputs, as whole numbers: constant, changing at given slots, or from a function."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import fsum, isfinite
from typing import Any, Protocol

import numpy as np

from penstock.core.arrays import Rows
from penstock.core.cached import cached_property
from penstock.core.frozen import frozen

SCALE = 1 << 30
"""The sum of whole-number weights, within rounding."""
ASKED_EVERY = 1024
"""Slots between two calls of a function of weights."""
MOST_EQUAL = 1024  # calls after which a segment ends even with unchanged weights


class Weights(Protocol):
    """The weights of n inputs from a slot of the epoch on."""

    @property
    def settle(self) -> bool:
        """True if there is a last change."""
        ...

    def at(self, slot: int, /) -> tuple[Rows, int | None]:
        """Return the weights at a slot, `int64[n]`, and the slot of the next change, if any."""
        ...


@frozen()
class Steady:
    """Constant weights.

    >>> Steady((0.5, 1.5)).at(7)[0].tolist()
    [268435456, 805306368]
    """

    weights: tuple[float, ...]
    settle = True

    def at(self, slot: int, /) -> tuple[Rows, int | None]:
        return self._whole, None

    def thinned(self, step: int) -> Steady:
        """Return the weights of every `step`-th slot."""
        return self

    @cached_property
    def _whole(self) -> Rows:
        return whole_weights(self.weights)

    def __str__(self) -> str:
        return weights_text(self.weights)


@frozen()
class Stepped:
    """Weights that change at given slots, each with the weights from there on; the first slot is 0."""

    steps: tuple[tuple[int, tuple[float, ...]], ...]
    settle = True

    def at(self, slot: int, /) -> tuple[Rows, int | None]:
        after = bisect_right(self.steps, slot, key=lambda step: step[0])
        change = self.steps[after][0] if after < len(self.steps) else None
        return whole_weights(self.steps[after - 1][1]), change

    def thinned(self, step: int) -> Stepped:
        """Return the weights of every `step`-th slot."""
        return Stepped(tuple({-(-slot // step): weights for slot, weights in self.steps}.items()))

    def __str__(self) -> str:
        return f"{{{', '.join(f'{slot}: {weights_text(weights)}' for slot, weights in self.steps)}}}"


@frozen()
class Asked:
    """The weights that `function(step * slot)` returns at every 1,024th slot, valid up to the next."""

    function: Callable[[int], Any]
    count: int
    step: int = 1
    settle = False

    def at(self, slot: int, /) -> tuple[Rows, int | None]:
        begin = slot // ASKED_EVERY
        weights = self._weights(begin)
        end = begin + 1
        while end < begin + MOST_EQUAL and self._weights(end) == weights:
            end += 1
        return whole_weights(weights), end * ASKED_EVERY

    def thinned(self, step: int) -> Asked:
        """Return the weights of every `step`-th slot."""
        return replace(self, step=self.step * step)

    def _weights(self, block: int) -> tuple[float, ...]:
        slot = self.step * block * ASKED_EVERY
        return check_weights(self.function(slot), self.count, f"weights({slot}) returned ")

    def __str__(self) -> str:
        return getattr(self.function, "__qualname__", type(self.function).__qualname__).rpartition("<locals>.")[2]


def check_weights(weights: Any, count: int, told: str, of: str = "dataset") -> tuple[float, ...]:
    """Return `count` weights as floats; raise a `ValueError` that begins with `told` if they are invalid.

    >>> check_weights([1, -1], 2, "weights=")
    Traceback (most recent call last):
    ValueError: weights=[1, -1]: expected finite numbers of at least 0
    """
    try:
        values = tuple(float(weight) for weight in weights)
    except (TypeError, ValueError):
        raise TypeError(f"{told}{weights!r:.80}: expected {count} numbers, one for each {of}") from None
    if len(values) != count:
        raise ValueError(f"{told}{weights!r:.80}: expected {count} weights, one for each {of}, not {len(values)}")
    if not all(isfinite(value) and value >= 0 for value in values):
        raise ValueError(f"{told}{weights!r:.80}: expected finite numbers of at least 0")
    if not any(values):
        raise ValueError(f"{told}{weights!r:.80}: at least one weight must be above 0")
    return values


def whole_weights(weights: Sequence[float]) -> Rows:
    """Return weights in the same proportions as whole numbers, `int64[n]`, that add up to 2**30 or less.

    Whole numbers with such a sum stay exact; others are rounded to a 2**30th of their sum, and weights above 0 to at
    least that.

    >>> whole_weights([3, 1]).tolist(), whole_weights([1e-20, 1.0]).tolist()
    ([3, 1], [1, 1073741824])
    """
    if all(weight == int(weight) for weight in weights) and sum(map(int, weights)) <= SCALE:
        return np.array(weights, np.int64)
    largest = max(weights)
    shares = [weight / largest for weight in weights]  # so that the sum is finite
    total, pairs = fsum(shares), zip(shares, weights, strict=True)
    return np.array([max(round(share / total * SCALE), weight > 0) for share, weight in pairs], np.int64)


def weights_text(weights: Sequence[float]) -> str:
    """Return a list of weights as the user would write it."""
    return f"[{', '.join(f'{weight:.12g}' for weight in weights)}]"
