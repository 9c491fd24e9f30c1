"""A contact sheet: many images in one, in rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.core.lazy import require
from penstock.image.resize import resize

_GAP = 4  # pixels between two images
_PAPER = 255


def contact_sheet(images: Sequence[NDArray[np.uint8]], *, across: int = 8, side: int = 128) -> NDArray[np.uint8]:
    """Return the images, each `uint8[h, w, c]` with 1 or 3 channels, in rows of `across`, as `uint8[H, W, 3]`.

    Each image is scaled to fit into a square of `side` pixels, and centered in it.

    >>> contact_sheet([np.zeros((10, 20, 3), np.uint8)] * 3, across=2, side=16).shape
    (44, 44, 3)
    """
    columns = min(across, max(len(images), 1))
    rows = -(-len(images) // columns)
    step = side + _GAP
    sheet = np.full((rows * step + _GAP, columns * step + _GAP, 3), _PAPER, np.uint8)
    for i, image in enumerate(images):
        height, width = image.shape[:2]
        scale = side / max(height, width)
        fitted = resize((max(round(height * scale), 1), max(round(width * scale), 1)))(np.ascontiguousarray(image))
        top = _GAP + i // columns * step + (side - fitted.shape[0]) // 2
        left = _GAP + i % columns * step + (side - fitted.shape[1]) // 2
        sheet[top : top + fitted.shape[0], left : left + fitted.shape[1]] = fitted
    return sheet


def save_png(image: NDArray[np.uint8], path: str) -> None:
    """Write an image, `uint8[h, w, 3]`, as a PNG file."""
    pillow: Any = require("PIL.Image", extra="image", purpose="a contact sheet")
    pillow.fromarray(image).save(path, format="PNG")
