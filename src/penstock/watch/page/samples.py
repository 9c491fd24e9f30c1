"""Sample elements on a page: images as thumbnails, audio as waveforms, text, lengths, and numbers."""

from __future__ import annotations

import base64
import struct
import zlib
from html import escape
from typing import Any

import numpy as np

from penstock.elements.nested.structure import flatten, paths
from penstock.elements.ragged import Ragged
from penstock.elements.spec import describe, spec_of

THUMBNAIL = 96  # pixels
SHOWN = 8  # elements of a batch
TEXT_SHOWN = 400
AUDIO_LEAST = 1000  # samples of a waveform


def element_html(element: Any, rows: int | None = None) -> str:
    """Return an element leaf by leaf; `rows` is the number of elements if it is a batch."""
    leaves, structure = flatten(element)
    parts: list[str] = []
    for path, leaf in zip(paths(structure), leaves, strict=True):
        spec = escape(describe(spec_of(leaf)))
        parts.append(
            f"<div class=leaf><h3>{escape(path) or 'element'} <small>{spec}</small></h3>{_leaf(leaf, rows)}</div>"
        )
    return "".join(parts)


def _leaf(leaf: Any, rows: int | None) -> str:
    if isinstance(leaf, Ragged):
        lengths = np.diff(leaf.row_splits)[:SHOWN]
        return f"<p>lengths {escape(', '.join(map(str, lengths.tolist())))}</p>"
    if rows is not None and isinstance(leaf, np.ndarray) and leaf.ndim:
        return f"<div class=row>{''.join(f'<figure>{_one(each)}</figure>' for each in leaf[:SHOWN])}</div>"
    return _one(leaf)


def _one(value: Any) -> str:
    if isinstance(value, np.ndarray) and _is_image(value):
        data = base64.b64encode(png_bytes(thumbnail(value))).decode()
        return f'<img alt="image" src="data:image/png;base64,{data}">'
    if isinstance(value, np.ndarray) and value.dtype.kind in "fi" and value.size >= AUDIO_LEAST and _is_long(value):
        return _waveform(value)
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if isinstance(value, np.ndarray):
        text = np.array2string(value, threshold=12, edgeitems=3, precision=4)
    return f"<code>{escape(text[:TEXT_SHOWN])}{'…' if len(text) > TEXT_SHOWN else ''}</code>"


def _is_image(array: np.ndarray) -> bool:
    channels = array.ndim == 3 and array.shape[2] in (1, 3, 4)
    return array.dtype.kind in "uf" and channels and min(array.shape[:2]) >= 8


def _is_long(array: np.ndarray) -> bool:
    return array.ndim == 1 or (array.ndim == 2 and min(array.shape) <= 2)


def thumbnail(image: np.ndarray) -> np.ndarray:
    """Return an image of any kind as `uint8[h, w, 3]` of at most 96 pixels a side; floats are scaled to their range."""
    step = max(-(-max(image.shape[:2]) // THUMBNAIL), 1)
    small = image[::step, ::step, :3]
    if small.dtype.kind == "f":
        low, high = float(np.nanmin(small)), float(np.nanmax(small))
        small = np.nan_to_num((small - low) / ((high - low) or 1.0) * 255)
    elif small.dtype.itemsize > 1:
        small = small >> (8 * (small.dtype.itemsize - 1))
    small = np.clip(small, 0, 255).astype(np.uint8)
    return np.repeat(small, 3, axis=2) if small.shape[2] == 1 else np.ascontiguousarray(small[..., :3])


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


def _waveform(samples: np.ndarray) -> str:
    wave = samples.reshape(-1).astype(np.float64)[: samples.size]
    parts = np.array_split(wave, 160)
    top = float(np.max(np.abs(np.nan_to_num(wave)))) or 1.0
    ends = [(20 - 19 * float(part.max()) / top, 20 - 19 * float(part.min()) / top) for part in parts if part.size]
    lines = [
        f'<line x1="{at}" x2="{at}" y1="{high:.1f}" y2="{low:.1f}"/>'
        for at, (high, low) in enumerate(ends)
        if np.isfinite(high + low)
    ]
    return f'<svg class=wave viewBox="0 0 160 40" role="img" aria-label="waveform">{"".join(lines)}</svg>'
