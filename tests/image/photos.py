"""Images to test with: real photographs, smooth random pictures, and both as files."""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
from PIL import Image


@cache
def photos() -> tuple[np.ndarray, ...]:
    """Scikit-learn's sample photographs, uint8[427, 640, 3]."""
    from sklearn.datasets import load_sample_images

    return tuple(load_sample_images().images)


def picture(height: int, width: int, channels: int = 3, seed: int = 0) -> np.ndarray:
    """Waves with some noise: uint8[height, width, channels]."""
    rng = np.random.default_rng(seed)
    y, x, c = np.ogrid[:height, :width, :channels]
    waves = 127 + 90 * np.sin(x / rng.uniform(2, 20) + c) * np.cos(y / rng.uniform(2, 20) - c)
    return np.clip(waves + rng.normal(0, 8, (height, width, channels)), 0, 255).astype(np.uint8)


def encoded(pixels: np.ndarray, format: str = "JPEG", mode: str | None = None, **options: Any) -> bytes:
    """The pixels as a file."""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    file = io.BytesIO()
    (image if mode is None else image.convert(mode)).save(file, format, **options)
    return file.getvalue()


def opened(data: bytes, mode: str = "RGB") -> np.ndarray:
    """Return the file as Pillow decodes it."""
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]
