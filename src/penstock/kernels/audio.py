"""Audio kernels: the samples of WAV files, and resampling by a polyphase filter; `reference.audio` holds the twins."""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.kernels import _native


class WavStatus(IntEnum):
    """The result of locating the samples of a file."""

    OK = 0
    ELSEWHERE = 1
    NO_FORMAT = 2
    NO_DATA = 3
    BAD_FORMAT = 4
    TRUNCATED = 5


class WavLayout(NamedTuple):
    """The layout of a WAV file: `stated` bytes of samples by the header, of which `held` are present."""

    status: WavStatus
    channels: int
    rate: int
    frames: int
    stated: int
    held: int


def wav_layout(data: bytes) -> WavLayout:
    """Return the layout of a WAV file; unless the status is OK or TRUNCATED, other fields are meaningless."""
    status, *rest = _native.wav_layout(data)
    return WavLayout(WavStatus(status), *rest)


def wav_samples(
    data: bytes, layout: WavLayout, first: int, count: int, *, mixed: bool, out: NDArray[np.float32] | None = None
) -> NDArray[np.float32]:
    """Return `count` frames from `first` on as fractions of the range: float32 (count, channels), or (count,) `mixed`.

    `out` may be memory of that shape.
    """
    shape = (count,) if mixed else (count, layout.channels)
    if out is None or out.shape != shape or out.dtype != np.float32 or not out.flags.c_contiguous:
        out = np.empty(shape, np.float32)
    _native.wav_samples(data, first, count, mixed, out)
    return out


def resample_waveform(
    samples: NDArray[np.float32], weights: NDArray[np.float32], down: int, count: int
) -> NDArray[Any]:
    """Return `count` samples of a filter's output: float32 (frames,) in, weights (up, taps).

    Output i is the sum over k of `weights[i * down % up, k] * samples[i * down // up + k - taps // 2]`, with silence
    beyond the ends.
    """
    if weights.shape[1] % 2 == 0:
        raise ValueError(f"a filter needs an odd number of taps, not {weights.shape[1]}")
    out = np.empty(count, np.float32)
    weights = np.ascontiguousarray(weights, np.float32)
    _native.resample(np.ascontiguousarray(samples, np.float32), weights, down, out)
    return out
