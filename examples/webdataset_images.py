"""Read image shards in WebDataset layout, fully shuffled, and resume: `python examples/webdataset_images.py`.

Makes pictures, writes them into tar archives, and reads them at random, by an index next to each archive. `webdataset`
reads these archives too, and Penstock reads the archives that `webdataset` writes.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

CLASSES = ("rings", "stripes")


def pipeline(shards: str, size: int = 64) -> ps.Dataset:
    return (
        ps.read_tar(shards, columns={"image": "jpg;png", "label": "cls", "about": "json"}, decode=True)
        .shuffle(seed=0)
        .map(ps.image.decode(), on="image")
        .map(ps.image.random_resized_crop(size), on="image")
        .map(lambda x: {"image": x["image"], "label": x["label"], "width": x["about"]["width"]})
        .batch(32)
    )


def samples(count: int = 300) -> Iterator[dict[str, Any]]:
    """Yield samples of a JPEG, its class and its properties, under one key."""
    from PIL import Image

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:120, :160]
    for number in range(count):
        label = number % 2
        center, width = rng.uniform(40, 80, 2), rng.uniform(5, 12)
        distance = x + y if label else np.hypot(y - center[0], x - center[1])
        gray = 127 + 120 * np.sin(distance / width)
        file = io.BytesIO()
        Image.fromarray(np.stack([gray, gray[::-1], 255 - gray], axis=2).astype(np.uint8)).save(file, "jpeg")
        about = {"width": round(width, 1), "class": CLASSES[label]}
        yield {"__key__": f"{CLASSES[label]}/{number:05d}", "jpg": file.getvalue(), "cls": label, "json": about}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        names = ps.Dataset.from_generator(samples).write_tar(Path(folder) / "train.tar", max_bytes=400_000)
        ds = pipeline(f"{folder}/train-*.tar")
        print(f"{len(names)} archives, {len(ds)} batches of {ds.element_spec}")
        with ds.iterator(epoch=0) as batches:
            for _ in range(4):
                next(batches)
            saved = batches.state_dict()  # a few integers
            rest = [batch["label"].sum() for batch in batches]
            print(batches.verdict())
        with ds.iterator() as again:
            again.load_state_dict(saved)
            print(f"resumed after 4 batches: {[int(n) for n in rest] == [int(b['label'].sum()) for b in again]}")


if __name__ == "__main__":
    main()
