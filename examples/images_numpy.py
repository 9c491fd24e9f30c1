"""Turn a folder of JPEGs into batches of crops, as NumPy arrays: `python examples/images_numpy.py [FOLDER]`.

FOLDER has one folder per class, as in photos/cat/1.jpg. Without FOLDER, the program makes pictures in a temporary
folder (with Pillow).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

import penstock as ps


def pipeline(folder: Path, size: int = 64) -> ps.Dataset:
    return (
        ps.read_image_folder(folder)
        .shuffle(seed=0)
        .map(ps.image.decode(), on="image")
        .map(ps.image.random_resized_crop(size), on="image")
        .map(ps.image.random_flip(), on="image")
        .map(brighten, on="image")
        .batch(32)
    )


def brighten(image: np.ndarray, *, rng: np.random.Generator) -> np.ndarray:
    """Change the brightness at random; `rng` belongs to the example, so the number of workers makes no difference."""
    return np.clip(image * rng.uniform(0.8, 1.2), 0, 255).astype(np.uint8)


def make_pictures(folder: Path, count: int = 200) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:120, :160]
    for number in range(count):
        name = ("rings", "stripes")[number % 2]
        center, width = rng.uniform(40, 80, 2), rng.uniform(5, 12)
        distance = np.hypot(y - center[0], x - center[1]) if name == "rings" else x + y
        gray = 127 + 120 * np.sin(distance / width)
        file = folder / name / f"{number}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.stack([gray, gray[::-1], 255 - gray], axis=2).astype(np.uint8)).save(file)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary)
        if len(sys.argv) < 2:
            make_pictures(folder)
        ds = pipeline(folder)
        print(f"{len(ds)} batches of {ds.element_spec}, classes: {', '.join(ds.class_names)}")
        for epoch in range(2):
            with ds.iterator(epoch=epoch) as batches:
                brightness = np.mean([batch["image"].mean() for batch in batches])
                print(f"epoch {epoch}: mean brightness {brightness:.1f}. {batches.verdict()}")


if __name__ == "__main__":
    main()
