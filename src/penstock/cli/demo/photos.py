"""The ImageNet-style pipeline over crops of real photos, and the machine's limit for comparison."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import penstock as ps
from penstock.cli.terminal import Update
from penstock.core.frozen import frozen
from penstock.core.lazy import require
from penstock.image.fused import FusedImage, fuse
from penstock.memory.limits import available_cores

SIZE = 224  # pixels
BATCH = 64
PIECE = 16  # images in one call of the kernel
WARM_UP = 0.4  # seconds
OPERATIONS = (ps.image.decode(), ps.image.random_resized_crop(SIZE), ps.image.random_flip())


def write_photos(folder: Path, count: int, update: Update) -> int:
    """Write crops of about 500×375 of scikit-learn's two photos as JPEG files of quality 90; return their bytes."""
    datasets = require("sklearn.datasets", extra="demo", purpose="penstock demo")
    pillow = require("PIL.Image", extra="demo", purpose="penstock demo")
    rng = np.random.default_rng(0)
    written = 0
    photos = datasets.load_sample_images().images  # two, (427, 640, 3)
    for number in range(count):
        name = ("china", "flower")[number % 2]
        height, width = rng.integers(350, 401), rng.integers(470, 531)
        top, left = rng.integers(0, 428 - height), rng.integers(0, 641 - width)
        crop = photos[number % 2][top : top + height, left : left + width]
        file = folder / name / f"{number:04}.jpg"
        file.parent.mkdir(parents=True, exist_ok=True)
        pillow.fromarray(crop).save(file, quality=90)
        written += file.stat().st_size
        update(number, "")
    return written


def pipeline(folder: Path) -> ps.Dataset[dict[str, Any]]:
    """Shuffle, decode, random resized crop, flip, batch, without end."""
    decode, crop, flip = OPERATIONS
    return (
        ps.read_image_folder(folder)
        .shuffle(seed=0)
        .repeat()
        .map(decode, on="image")
        .map(crop, on="image")
        .map(flip, on="image")
        .batch(BATCH, drop_remainder=True)
    )


@frozen()
class Speeds:
    """Images per second of the pipeline, its kernel alone on `threads` threads, and whole decodes; and the verdict."""

    pipeline: float
    kernel: float
    whole: float
    threads: int
    verdict: str

    @property
    def share(self) -> float:
        """Return the pipeline's speed as a share of its ceiling."""
        return self.pipeline / self.kernel


def measure(folder: Path, seconds: float, update: Update, *, rounds: int = 4) -> Speeds:
    """Run the three in turn, and take the median of each over the rounds.

    The ceilings call the native kernel on files that are already in memory, from one thread a core, and do nothing
    else: `kernel` with the pipeline's own operations, `whole` decoding every pixel of each image.
    """
    threads = max(int(available_cores()), 1)
    files = list(ps.read_files(f"{folder}/*/*.jpg"))
    crops, decodes = fuse(OPERATIONS, (1, 2, 3)), fuse(OPERATIONS[:1], (1,))
    assert crops is not None  # noqa: S101 - the kernel knows these
    assert decodes is not None  # noqa: S101
    turns: list[tuple[float, str]] = []

    def piped(seconds: float) -> float:
        turns.append(_pipeline_rate(pipeline(folder), seconds))
        return turns[-1][0]

    contenders: Sequence[Callable[[float], float]] = (
        piped,
        lambda seconds: _kernel_rate(crops, files, threads, seconds),
        lambda seconds: _kernel_rate(decodes, files, threads, seconds),
    )
    rates: list[list[float]] = [[] for _ in contenders]
    for number in range(rounds * len(contenders)):
        update(number, "")
        which = number % len(contenders)
        rates[which].append(contenders[which](seconds / rounds / len(contenders)))
    medians = [statistics.median(each) for each in rates]
    _, verdict = statistics.median_high(turns)  # of a typical turn, not of one disturbed by other processes
    return Speeds(medians[0], medians[1], medians[2], threads, verdict)


def _pipeline_rate(dataset: ps.Dataset[Any], seconds: float) -> tuple[float, str]:
    """Return images per second once the pipeline runs steadily, with equal work under way at both ends."""
    with dataset.iterator() as batches:
        began = perf_counter()
        while perf_counter() - began < WARM_UP:
            next(batches)
        images, began = 0, perf_counter()
        while perf_counter() - began < seconds:
            images += len(next(batches)["image"])
        return images / (perf_counter() - began), batches.verdict()


def _kernel_rate(kernel: FusedImage, files: list[bytes], threads: int, seconds: float) -> float:
    """Return images per second of the kernel in a loop on each thread, into reused memory."""
    made = [0] * threads
    stop = perf_counter() + seconds
    fixed = kernel.ops != OPERATIONS[:1]

    def loop(thread: int) -> None:
        out = np.empty((PIECE, SIZE, SIZE, 3), np.uint8) if fixed else None
        at = thread * len(files) // threads
        while not made[thread] or perf_counter() < stop:  # a busy machine may not begin a thread in time
            rows = np.arange(at, at + PIECE)
            kernel.run([files[row % len(files)] for row in rows], rows, out)
            made[thread] += PIECE
            at += PIECE

    running = [threading.Thread(target=loop, args=(thread,)) for thread in range(threads)]
    began = perf_counter()
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    return sum(made) / (perf_counter() - began)
