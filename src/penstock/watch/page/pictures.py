"""Arrays as pictures: images as thumbnails in PNG, audio as waveforms in SVG."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np

from penstock.image.decode import Decode

THUMBNAIL = 96  # pixels
LEAST_SIDE = 8  # pixels of an image
AUDIO_LEAST = 1000  # samples of a waveform
AVERAGED = 4  # pixels of an image to average for one of its thumbnail, in each direction, at most
BARS = 160  # of a waveform
_OVERSHOT = 2.0  # the largest float of an image of 0 to 1 that was brightened; at 0 to 255 it would be nearly black
_MOST_PIXELS = 40_000_000  # of an encoded image that is decoded for a thumbnail
_ENCODED = (b"\xff\xd8\xff", b"\x89PNG\r\n", b"GIF8", b"BM", b"RIFF", b"II*\0", b"MM\0*")


def image_of(value: Any) -> np.ndarray | None:
    """Return a value as an image of shape (h, w, 1 to 4), or `None` if its dtype or shape is not that of an image.

    Images are arrays of shape (h, w, c) or (c, h, w), for c of 1, 3 or 4, or of shape (h, w) of `uint8` or floats; and
    the bytes of an image file.

    >>> image_of(np.zeros((3, 16, 20), np.float32)).shape, image_of(np.zeros((16, 3)))
    ((16, 20, 3), None)
    """
    if isinstance(value, bytes):
        return _decoded(value)
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "uif" or value.ndim not in (2, 3):
        return None
    if value.ndim == 2:
        is_gray = value.dtype == np.uint8 or value.dtype.kind == "f"
        return value[:, :, None] if is_gray and min(value.shape) >= LEAST_SIDE else None
    if value.shape[2] in (1, 3, 4) and min(value.shape[:2]) >= LEAST_SIDE:
        return value
    if value.shape[0] in (1, 3, 4) and min(value.shape[1:]) >= LEAST_SIDE:
        return np.moveaxis(value, 0, 2)
    return None


def _decoded(data: bytes) -> np.ndarray | None:
    if not data.startswith(_ENCODED):
        return None
    try:
        return Decode(max_pixels=_MOST_PIXELS)(data)
    except Exception:  # noqa: BLE001 - damaged, of a format that needs Pillow, or bytes that only look like an image
        return None


def is_wave(value: Any) -> bool:
    """Return whether a value is an array that looks like audio: long, of one or two channels."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "fi" or value.size < AUDIO_LEAST:
        return False
    return value.ndim == 1 or (value.ndim == 2 and min(value.shape) <= 2)


def thumbnail(image: np.ndarray, most: int = THUMBNAIL) -> np.ndarray:
    """Return an image of shape (h, w, 1 to 4) as `uint8[h, w, 3]` of at most `most` pixels a side.

    Floats from 0 to 1 and from 0 to 255 are shown as they are, those up to 2 as from 0 to 1 with brighter ones white;
    other floats and signed numbers are scaled to their range.
    """
    longest = max(image.shape[:2])
    image = image[..., :3] if image.shape[2] >= 3 else image[..., :1]
    coarse = max(longest // (most * AVERAGED), 1)
    small = _averaged(image[::coarse, ::coarse], most)
    shown = np.clip(_brightness(small, image.dtype), 0, 255).astype(np.uint8)
    return np.repeat(shown, 3, axis=2) if shown.shape[2] == 1 else np.ascontiguousarray(shown)


def _averaged(image: np.ndarray, most: int) -> np.ndarray:
    """Return the means of blocks of pixels, so that the longer side is at most `most`; the sides keep their ratio."""
    high, wide, _ = image.shape
    longest = max(high, wide)
    image = image.astype(np.float64)
    for axis, side in enumerate((high, wide) if longest > most else ()):
        blocks = max(round(side * most / longest), 1)
        starts = np.arange(blocks) * side // blocks
        counts = np.diff(starts, append=side)
        image = np.add.reduceat(image, starts, axis=axis) / np.expand_dims(counts, (1 - axis, 2))
    return image


def _brightness(image: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Return pixels from 0 to 255 for those of an image of this dtype; NaN and infinities are black."""
    if dtype.kind == "u":
        return image / 256 ** (dtype.itemsize - 1)
    finite = image[np.isfinite(image)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if low < 0 or high > 255:
        scale = 255 / ((high - low) or 1.0)
    else:
        low, scale = 0.0, 255 if dtype.kind == "f" and high <= _OVERSHOT else 1
    with np.errstate(invalid="ignore", over="ignore"):
        return np.nan_to_num((image - low) * scale, nan=0, posinf=0, neginf=0)


def png_bytes(image: np.ndarray) -> bytes:
    """Return `uint8[h, w, 3]` as a PNG file.

    >>> png_bytes(np.zeros((1, 1, 3), np.uint8))[1:4]
    b'PNG'
    """
    height, width, _ = image.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line after the number of its filter, none
    lines[:, 1:] = image.reshape(height, -1)

    def part(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = part(b"IHDR", head) + part(b"IDAT", zlib.compress(lines.tobytes())) + part(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def png_url(image: np.ndarray) -> str:
    """Return `uint8[h, w, 3]` as a `data:` URL."""
    return f"data:image/png;base64,{base64.b64encode(png_bytes(image)).decode()}"


def waveform(samples: np.ndarray) -> str:
    """Return a drawing of audio, of one channel of it if there are several."""
    wave = samples if samples.ndim == 1 else samples[0] if samples.shape[0] <= 2 else samples[:, 0]
    starts = np.unique(np.linspace(0, wave.size, BARS, endpoint=False).astype(np.int64))
    ends = np.stack([np.maximum.reduceat(wave, starts), np.minimum.reduceat(wave, starts)]).astype(np.float64)
    finite = np.abs(ends[np.isfinite(ends)])
    top = float(finite.max(initial=0)) or 1.0
    lines = [
        f'<line x1="{at}" x2="{at}" y1="{20 - 19 * high / top:.1f}" y2="{20 - 19 * low / top + 0.5:.1f}"/>'
        for at, (high, low) in enumerate(ends.T.tolist())
        if np.isfinite(high + low)
    ]
    return f'<svg class=wave viewBox="0 0 {BARS} 40" role="img" aria-label="waveform">{"".join(lines)}</svg>'
