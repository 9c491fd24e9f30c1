"""The training loop of `feed`: a step of a small network in PyTorch or JAX for each batch.

The step runs with the framework's own choice of threads, and nobody waits for it before a run ends: JAX returns from a
step at once, and computes it while the next batch is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from itertools import islice, repeat
from time import perf_counter
from typing import Any

import numpy as np

from bench.tally import Tally, record_ids

MIDDLE, SCALE = 127, 64  # of the normalization


class Stepping:
    """The step, in the framework that the options name: `run` of a contender, once it knows where batches come from."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.framework = import_module(f"bench.feeding.{options['framework']}_training")
        if options["version"] not in (None, self.framework.version()):
            raise RuntimeError(f"{options['framework']} {self.framework.version()} instead of {options['version']}")
        self.labels = np.load(options["labels"])
        self.steps = options["steps"]
        self.training = self.framework.Training("cpu", options["widths"])

    def placed(self, batches: Iterable[dict[str, np.ndarray]]) -> Iterator[dict[str, Any]]:
        """Yield batches with the framework's arrays instead of NumPy's."""
        return map(self.framework.placed, batches)

    def over(self, batches: Iterable[dict[str, Any]]) -> Callable[[Tally, int], None]:
        """Return the function that runs an epoch of steps over the endless `batches`, continuing where it stopped.

        As many steps with the batch before come first, since the time of a step differs from process to process.
        """
        endless = iter(batches)
        before: list[dict[str, Any]] = []

        def run(tally: Tally, number: int) -> None:
            if before:
                tally.extra["replayed"] = self.time(repeat(before[0], self.steps))
            tally.extra["step"] = self.time(islice(endless, self.steps), tally if tally.thorough else None)
            before[:] = [self.last]
            tally.rows = self.steps

        return run

    def time(self, batches: Iterable[dict[str, Any]], tally: Tally | None = None) -> float:
        """Take a step for each batch, which the `tally` then looks at; return the seconds of one."""
        began = perf_counter()
        for batch in batches:
            self.training(batch)
            if tally is not None:
                self.look(tally, batch)
            self.last = batch
        self.training.wait()
        return (perf_counter() - began) / self.steps

    def look(self, tally: Tally, batch: dict[str, Any]) -> None:
        """Check images (k, size, size, 3) and labels (k,)."""
        strange = [type(array).__name__ for array in batch.values() if not isinstance(array, self.framework.Array)]
        if strange:
            raise TypeError(f"batches of {', '.join(strange)}")
        image, label = np.asarray(batch["image"]), np.asarray(batch["label"])
        ids = record_ids(np.rint(image * SCALE + MIDDLE).astype(np.uint8))
        if not np.array_equal(label, self.labels[ids]):
            raise ValueError("labels of other images")
        tally.add(image, ids)


def read(options: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the images (n, size, size, 3) uint8 and the labels (n,) int64."""
    return np.load(options["data"]), np.load(options["labels"])


def normalized(image: np.ndarray) -> np.ndarray:
    """Return images as float32, in as few passes over the memory as NumPy can."""
    image = image.astype(np.float32)
    image -= MIDDLE
    image *= 1 / SCALE
    return image
