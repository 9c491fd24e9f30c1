"""The work of `cluster`: a photo decoded, cropped and flipped with Pillow, the same in every contender.

Contenders import this file in their own environments, so it needs only NumPy and Pillow.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from bench.data import image_files

SIZE = 224


class Prepare:
    """Make the array of a photo, `uint8[224, 224, 3]`, with its number in the first four bytes."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.paths = image_files(Path(options["folder"]))[0][: options["rows"]]

    def __call__(self, row: int) -> np.ndarray:
        from PIL import Image

        rng = np.random.default_rng(int(row))
        with Image.open(self.paths[row]) as photo:
            scale = np.sqrt(rng.uniform(0.08, 1.0))
            width, height = photo.width * scale, photo.height * scale
            left, top = rng.uniform(0, photo.width - width), rng.uniform(0, photo.height - height)
            box = (left, top, left + width, top + height)
            made = np.array(photo.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR, box))
        if rng.random() < 0.5:
            made = np.ascontiguousarray(made[:, ::-1])
        made.reshape(-1)[:4] = np.frombuffer(int(row).to_bytes(4, "little"), np.uint8)
        return made

    def batch(self, rows: Iterable[int]) -> np.ndarray:
        """Return the arrays of k photos as one, `uint8[k, 224, 224, 3]`."""
        return np.stack([self(int(row)) for row in rows])
