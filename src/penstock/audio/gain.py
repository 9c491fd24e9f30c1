"""Make audio louder or softer at random."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.audio.samples import check_samples
from penstock.core.frozen import frozen
from penstock.elements.spec import Spec
from penstock.plan.operation import Operation


@frozen(repr=False)
class RandomGain(Operation):
    """Change the level by some decibels."""

    name: ClassVar[str] = "random_gain"
    random: ClassVar[bool] = True
    arguments: ClassVar[int] = 2

    low: float
    high: float

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        return check_samples("random_gain", value) * np.float32(10 ** (self._decibels(draw) / 20))

    def drawn(self, value: Any, draw: int) -> str:
        return f"{self._decibels(draw):+.2f} dB"

    def _decibels(self, draw: int) -> float:
        return self.low + (self.high - self.low) * (draw >> 11) * 2.0**-53

    def spec(self, spec: Spec) -> Spec | None:
        return spec


def random_gain(low: float, high: float) -> RandomGain:
    """Change the level by `low` to `high` decibels, uniformly: float32 (frames,) or (frames, channels).

    Nothing is clipped: 6 dB more is about twice the samples.

    >>> import numpy as np
    >>> random_gain(-20, -20)(np.ones(2, np.float32)).round(3).tolist()
    [0.10000000149011612, 0.10000000149011612]
    """
    for name, bound in (("low", low), ("high", high)):
        if isinstance(bound, bool) or not isinstance(bound, (int, float, np.integer, np.floating)):
            raise TypeError(f"random_gain({name}={bound!r}): expected a number, not {type(bound).__name__}")
    if not (math.isfinite(low) and math.isfinite(high) and low <= high <= 200):
        raise ValueError(f"random_gain({low}, {high}): expected decibels, the lower first, and at most 200")
    return RandomGain(float(low), float(high))
