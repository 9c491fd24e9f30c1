"""Samples of WAV files and resampling in plain NumPy: the reference for the native kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def pcm_samples(data: bytes, kind: str, channels: int, *, mixed: bool) -> NDArray[np.float32]:
    """Return the samples in `data`: `kind` is "u8", "s16", "s24", "s32", "f32" or "f64".

    >>> pcm_samples(bytes([0, 128, 255, 128]), "u8", 2, mixed=True).tolist()
    [-0.5, 0.49609375]
    """
    if kind == "u8":
        values = (np.frombuffer(data, np.uint8).astype(np.float64) - 128) / 128
    elif kind == "s24":
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        values = wide.view("<i4")[:, 0].astype(np.float64) / 2**31
    elif kind.startswith("s"):
        bits = int(kind[1:])
        values = np.frombuffer(data, f"<i{bits // 8}").astype(np.float64) / 2 ** (bits - 1)
    else:
        values = np.frombuffer(data, "<f4" if kind == "f32" else "<f8").astype(np.float64)
    limits = np.finfo(np.float32)
    with np.errstate(invalid="ignore"):  # of a NaN that signals
        finite = np.where(np.isinf(values), values, np.clip(values, limits.min, limits.max))
        frames = finite.astype(np.float32).reshape(-1, channels)
    return frames.astype(np.float64).mean(axis=1).astype(np.float32) if mixed else frames


def resample_waveform(
    samples: NDArray[np.float32], weights: NDArray[np.float32], down: int, count: int
) -> NDArray[np.float64]:
    """Return `count` samples of a filter's output, in double precision.

    >>> resample_waveform(np.ones(3, np.float32), np.ones((1, 3), np.float32), 1, 3).tolist()
    [2.0, 3.0, 2.0]
    """
    up, taps = weights.shape
    padded = np.pad(samples.astype(np.float64), (taps // 2, taps + down))
    at = np.arange(count) * down
    windows = padded[(at // up)[:, None] + np.arange(taps)]  # (count, taps)
    return (windows * weights[at % up]).sum(axis=1)
