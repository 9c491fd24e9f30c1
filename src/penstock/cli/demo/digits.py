"""Real handwritten digits as files, and the pipelines that train on some and test on others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import penstock as ps
from penstock.cli.terminal import Update
from penstock.core.lazy import require

SIDE = 32  # pixels; the digits are 8×8
HELD_OUT = 360  # of 1,797
_BATCH = 50
SHIFT = 3  # pixels


class Pipelines(NamedTuple):
    """The pipelines for training and for testing."""

    training: ps.Dataset[dict[str, Any]]
    held_out: ps.Dataset[dict[str, Any]]


def write_digits(folder: Path, update: Update) -> int:
    """Write scikit-learn's digits as JPEG files, one folder per class; return their number."""
    datasets = require("sklearn.datasets", extra="demo", purpose="penstock demo")
    pillow = require("PIL.Image", extra="demo", purpose="penstock demo")
    digits = datasets.load_digits()
    for label in range(10):
        (folder / str(label)).mkdir(parents=True)
    for number, (image, label) in enumerate(zip(digits.images, digits.target, strict=True)):
        pixels = (image * (255 / 16)).astype(np.uint8)  # (8, 8), of 0 to 16
        enlarged = pillow.fromarray(pixels).resize((SIDE, SIDE), pillow.Resampling.BICUBIC)
        enlarged.save(folder / str(label) / f"{number:04}.jpg", quality=90)
        update(number, "")
    return len(digits.images)


def pipelines(folder: Path, *, workers: int | None = None) -> Pipelines:
    """Split the digits by arithmetic: a fixed shuffle, then the first 360 and the rest."""
    digits = ps.read_image_folder(folder).shuffle(seed=0, reshuffle_each_iteration=False)
    training = (
        digits.skip(HELD_OUT)
        .shuffle()
        .map(ps.image.decode(channels=1), on="image")
        .map(shift, on="image")
        .batch(_BATCH)
        .with_options(ps.Options(workers=workers, seed=5))
    )
    held_out = digits.take(HELD_OUT).map(ps.image.decode(channels=1), on="image").batch(_BATCH)
    return Pipelines(training, held_out)


def shift(image: NDArray[np.uint8], *, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Move the image, shape (height, width, 1), by a few pixels drawn from the generator of its row."""
    height, width, _ = image.shape
    top, left = rng.integers(0, 2 * SHIFT + 1, 2)
    padded = np.zeros((height + 2 * SHIFT, width + 2 * SHIFT, 1), np.uint8)
    padded[SHIFT:-SHIFT, SHIFT:-SHIFT] = image
    return padded[top : top + height, left : left + width]
