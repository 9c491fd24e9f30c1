"""Checks shared by audio operations: the form of samples, and the number of frames in some seconds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.checks import check_count
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec, Spec

MOST_RATE = 1 << 24
"""The highest sample rate, in Hz."""
FLOAT32 = np.dtype(np.float32)


def check_samples(name: str, samples: Any) -> NDArray[np.float32]:
    """Return `samples` if they are float32 of shape (frames,) or (frames, channels)."""
    if isinstance(samples, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name} takes samples, not {type(samples).__name__}: put ps.audio.decode() before it")
    if not isinstance(samples, np.ndarray):
        raise TypeError(f"{name} takes a NumPy array of samples, not {type(samples).__name__}")
    if samples.ndim not in (1, 2):
        raise ElementError(f"{name} takes samples of shape (frames,) or (frames, channels), not {samples.shape}")
    if samples.dtype != FLOAT32:
        raise ElementError(f"{name} takes samples of dtype float32, not {samples.dtype}")
    return samples


def check_rate(call: str, name: str, rate: object) -> int:
    """Return a sample rate, a whole number of Hz from 1 to 2**24."""
    checked = check_count(call, name, rate, least=1)
    if checked > MOST_RATE:
        raise ValueError(f"{call}({name}={checked}): expected at most {MOST_RATE}")
    return checked


def check_frames(call: str, seconds: object, sample_rate: object) -> int:
    """Return the number of frames in some seconds: the nearest whole number, and at least one."""
    rate = check_rate(call, "sample_rate", sample_rate)
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float, np.integer, np.floating)):
        raise TypeError(f"{call}(seconds={seconds!r}): expected a number, not {type(seconds).__name__}")
    if not math.isfinite(seconds) or not 1 <= round(seconds * rate) < 1 << 40:
        raise ValueError(f"{call}(seconds={seconds}): expected at least one frame at {rate} Hz, and a number")
    return round(seconds * rate)


def with_frames(spec: Spec, frames: int | None) -> Spec | None:
    """Return the spec of samples like `spec` with another number of frames; `None` if not samples."""
    if not isinstance(spec, ArraySpec) or len(spec.shape) not in (1, 2):
        return None
    return ArraySpec((frames, *spec.shape[1:]), spec.dtype)
