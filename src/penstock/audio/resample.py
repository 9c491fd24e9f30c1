"""Resample audio by a polyphase filter: a sinc under a Kaiser window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.audio.samples import check_rate, check_samples, with_frames
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec, Spec
from penstock.kernels import audio as kernel
from penstock.plan.operation import Operation

CROSSINGS = 32
"""Zero crossings of the sinc on each side of its middle."""
CUTOFF = 0.91
"""Where the filter is at half, as a share of the lower of the two Nyquist frequencies."""
BETA = 9.0
"""Of the Kaiser window: 90 dB between what passes and what does not."""
_MOST_WEIGHTS = 1 << 26


@dataclass(frozen=True, repr=False)
class Resample(Operation):
    """Turn samples of one rate into those of another."""

    name: ClassVar[str] = "resample"
    arguments: ClassVar[int] = 2

    from_rate: int
    to_rate: int

    def apply(self, value: Any, draw: int) -> NDArray[np.float32]:
        return resampled(check_samples("resample", value), self.from_rate, self.to_rate)

    def spec(self, spec: Spec) -> Spec | None:
        if not isinstance(spec, ArraySpec) or not spec.shape or spec.shape[0] is None:
            return with_frames(spec, None)
        return with_frames(spec, resampled_length(spec.shape[0], self.from_rate, self.to_rate))


def resample(from_rate: int, to_rate: int) -> Resample:
    """Turn samples of `from_rate` Hz into those of `to_rate`: float32 (frames,) or (frames, channels).

    n frames become ceil(n · to_rate / from_rate). Output i is at the time of i / to_rate; beyond the ends is silence.
    The filter is a sinc with its cut-off at 0.91 of the lower Nyquist frequency, 32 zero crossings on each side, under
    a Kaiser window with β = 9: what is below 0.82 passes unchanged to 0.01 %, aliases are 90 dB down. It is computed
    once for each pair of rates (Smith, "Digital Audio Resampling", 2002; Kaiser 1974).

    >>> import numpy as np
    >>> tone = np.sin(np.arange(4410, dtype=np.float32) * 2 * np.pi * 440 / 44100)
    >>> resample(44100, 16000)(tone).shape
    (1600,)
    """
    rates = check_rate("resample", "from_rate", from_rate), check_rate("resample", "to_rate", to_rate)
    _ratio("resample", *rates)
    return Resample(*rates)


def resampled(samples: NDArray[np.float32], from_rate: int, to_rate: int) -> NDArray[np.float32]:
    """Return float32 (frames,) or (frames, channels) at another rate."""
    up, down = _ratio("resample", from_rate, to_rate)
    if up == down:
        return samples
    weights, count = filter_weights(up, down), resampled_length(len(samples), from_rate, to_rate)
    if samples.ndim == 1:
        return kernel.resample(samples, weights, down, count)
    out = np.empty((count, samples.shape[1]), np.float32)
    for channel in range(samples.shape[1]):
        out[:, channel] = kernel.resample(samples[:, channel], weights, down, count)
    return out


def resampled_length(frames: int, from_rate: int, to_rate: int) -> int:
    """Return how many frames there are at another rate.

    >>> resampled_length(3, 2, 1)
    2
    """
    return -(-frames * to_rate // from_rate)


@lru_cache(maxsize=16)
def filter_weights(up: int, down: int) -> NDArray[np.float32]:
    """Return the weights of the filter to up / down times the rate: float32 (up, taps), each phase summing to one."""
    cutoff = CUTOFF * min(1.0, up / down)  # of the input's Nyquist frequency
    reach = CROSSINGS / cutoff  # input samples on each side of the middle
    half = math.ceil(reach)
    offsets = np.arange(-half, half + 1) - np.arange(up)[:, None] / up  # (up, taps), in input samples
    window = np.i0(BETA * np.sqrt(np.clip(1 - (offsets / reach) ** 2, 0, None))) * (np.abs(offsets) <= reach)
    weights = np.sinc(cutoff * offsets) * window
    weights /= weights.sum(axis=1, keepdims=True)
    narrow = weights.astype(np.float32)
    narrow.flags.writeable = False
    return narrow


def _ratio(call: str, from_rate: int, to_rate: int) -> tuple[int, int]:
    shared = math.gcd(from_rate, to_rate)
    up, down = to_rate // shared, from_rate // shared
    if up * 2 * (CROSSINGS / CUTOFF * max(1, down / up) + 2) > _MOST_WEIGHTS:
        raise ElementError(
            f"{call}: from {from_rate} Hz to {to_rate} Hz takes a filter for {up} phases, which is too large; go by a "
            "rate between that has more in common with both"
        )
    return up, down
