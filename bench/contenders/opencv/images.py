"""A hand-written loader: a thread pool, OpenCV, a preallocated batch for each batch of tasks, a few batches ahead.

A careful user writes such a loader when no library fits. OpenCV releases the GIL while it decodes and resizes.
Tried: 2, 3 and 4 threads; 1, 8, 16 or 32 images per task. Best: 2 threads, 16 images per task.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from bench.contenders.opencv_crop import crop_into, empty_batch
from bench.data import image_files
from bench.tally import Tally


def version() -> str:
    return cv2.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    cv2.setNumThreads(0)
    files, labels = image_files(Path(options["folder"]))
    all_labels = np.asarray(labels, dtype=np.int64)
    batch, chunk, ahead = options["batch"], options.get("chunk", 16), options.get("ahead", 4)
    pool = ThreadPoolExecutor(options.get("workers", options["threads"]))

    def fill(out: np.ndarray, rows: np.ndarray, seed: int) -> None:
        rng = random.Random(seed)
        for i, row in enumerate(rows):
            crop_into(files[row], rng, out[i], options["large"])

    def submit(rows: np.ndarray, seed: int) -> tuple[np.ndarray, list[Future[None]]]:
        out = empty_batch(batch, options["float"])
        parts = range(0, batch, chunk)
        return out, [pool.submit(fill, out[at : at + chunk], rows[at : at + chunk], seed + at) for at in parts]

    def run(tally: Tally, number: int) -> None:
        order = np.random.default_rng(number).permutation(len(files))
        window: deque[tuple[np.ndarray, np.ndarray, list[Future[None]]]] = deque()
        starts = iter(range(0, len(order) // batch * batch, batch))
        while True:
            while len(window) < ahead and (start := next(starts, None)) is not None:
                rows = order[start : start + batch]
                window.append((rows, *submit(rows, number * 1_000_003 + start)))
            if not window:
                return
            rows, out, futures = window.popleft()
            for future in futures:
                future.result()
            tally.add(out, all_labels[rows])

    return run
