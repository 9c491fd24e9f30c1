"""WAV files of any kind, made byte by byte, and tones to put into them."""

from __future__ import annotations

import struct

import numpy as np

WIDTHS = {"u8": 1, "s16": 2, "s24": 3, "s32": 4, "f32": 4, "f64": 8}


def tone(frames, frequency=440.0, rate=16_000, channels=None):
    """A sine of half the range, float32 (frames,) or (frames, channels), each channel softer than the one before."""
    wave = 0.5 * np.sin(2 * np.pi * frequency * np.arange(frames) / rate)
    return (wave if channels is None else wave[:, None] / np.arange(1, channels + 1)).astype(np.float32)


def encoded(samples, kind):
    """Samples as the bytes of one kind."""
    if kind.startswith("f"):
        return samples.astype("<f4" if kind == "f32" else "<f8").tobytes()
    if kind == "u8":
        return np.clip(np.round(samples * 128) + 128, 0, 255).astype(np.uint8).tobytes()
    bits = int(kind[1:])
    whole = np.clip(np.round(samples.astype(np.float64) * 2 ** (bits - 1)), -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    if bits == 24:
        return whole.astype("<i4").reshape(-1, 1).view(np.uint8)[:, :3].tobytes()
    return whole.astype(f"<i{bits // 8}").tobytes()


def wav(samples, kind="s16", rate=16_000):
    """The bytes of a WAV file of these samples, float (frames,) or (frames, channels)."""
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    block, data = channels * WIDTHS[kind], encoded(samples, kind)
    form = struct.pack("<HHIIHH", 3 if kind[0] == "f" else 1, channels, rate, rate * block, block, 8 * WIDTHS[kind])
    chunks = b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", len(data)) + data
    return b"RIFF" + struct.pack("<I", 4 + len(chunks)) + b"WAVE" + chunks
