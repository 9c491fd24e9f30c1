"""Grain's MapDataset with OpenCV.

Tried: reader threads or worker processes (`mp_prefetch`), and a map over images or a map over batches of
file names that fills a preallocated batch.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from importlib.metadata import version as installed
from pathlib import Path
from typing import Any

import cv2
import grain
import numpy as np

from bench.contenders.opencv_crop import crop_into, empty_batch
from bench.data import image_files
from bench.tally import Tally


def version() -> str:
    return installed("grain")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    cv2.setNumThreads(0)
    files, labels = image_files(Path(options["folder"]))
    batch, floats, large = options["batch"], options["float"], options["large"]

    def load(row: int, rng: np.random.Generator) -> dict[str, Any]:
        out = empty_batch(1, floats)[0]
        crop_into(files[row], random.Random(int(rng.integers(2**62))), out, large)
        return {"image": out, "label": labels[row]}

    def load_batch(rows: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
        out, draw = empty_batch(batch, floats), random.Random(int(rng.integers(2**62)))
        for i, row in enumerate(rows):
            crop_into(files[row], draw, out[i], large)
        return {"image": out, "label": np.array([labels[row] for row in rows], dtype=np.int64)}

    def dataset(seed: int) -> grain.IterDataset[Any]:
        ds = grain.MapDataset.range(len(files)).seed(seed).shuffle()
        if options.get("batched", True):
            ds = ds.batch(batch, drop_remainder=True).random_map(load_batch)
        else:
            ds = ds.random_map(load).batch(batch, drop_remainder=True)
        read = grain.ReadOptions(num_threads=options.get("read", 2), prefetch_buffer_size=options.get("buffer", 4))
        it = ds.to_iter_dataset(read)
        if options.get("processes"):
            it = it.mp_prefetch(grain.MultiprocessingOptions(num_workers=options["processes"]))
        return it

    def run(tally: Tally, number: int) -> None:
        for element in dataset(number):
            tally.add(element["image"], element["label"])

    return run
