"""Resample audio with a polyphase filter: a sinc under a Kaiser window."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.audio.samples import check_rate, check_samples, with_frames
from penstock.core.errors import ElementError
from penstock.core.frozen import frozen
from penstock.elements.spec import ArraySpec, Spec
from penstock.kernels import audio as kernel
from penstock.plan.operation import Operation

CROSSINGS = 32
"""Zero crossings of the sinc on each side of its middle."""
CUTOFF = 0.91
"""The half-amplitude frequency of the filter, as a share of the lower of the two Nyquist frequencies."""
BETA = 9.0
"""The parameter β of the Kaiser window, for 90 dB of attenuation in the stopband."""
_MOST_WEIGHTS = 1 << 26


@frozen(repr=False)
class Resample(Operation):
    """Convert samples from one rate to another."""

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
    """Convert samples from `from_rate` Hz to `to_rate`: float32 (frames,) or (frames, channels).

    n frames become ceil(n · to_rate / from_rate). Output i is at time i / to_rate; samples beyond the ends are silence.
    The filter is a sinc with its cut-off at 0.91 of the lower Nyquist frequency, 32 zero crossings on each side, under
    a Kaiser window with β = 9. Frequencies below 0.82 of it pass unchanged to 0.01 %, and aliases are attenuated by 90
    dB. Each pair of rates computes the filter once (Smith, "Digital Audio Resampling", 2002; Kaiser 1974).

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
        return kernel.resample_waveform(samples, weights, down, count)
    out = np.empty((count, samples.shape[1]), np.float32)
    for channel in range(samples.shape[1]):
        out[:, channel] = kernel.resample_waveform(samples[:, channel], weights, down, count)
    return out


def resampled_length(frames: int, from_rate: int, to_rate: int) -> int:
    """Return the number of frames at another rate.

    >>> resampled_length(3, 2, 1)
    2
    """
    return -(-frames * to_rate // from_rate)


@lru_cache(maxsize=16)
def filter_weights(up: int, down: int) -> NDArray[np.float32]:
    """Return the filter weights for up / down times the rate: float32 (up, taps), with sum one for each phase."""
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
            f"{call}: from {from_rate} Hz to {to_rate} Hz needs {up} filter phases, which is too many; resample "
            "to an intermediate rate first"
        )
    return up, down
