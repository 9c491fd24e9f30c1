"""Penstock in three long runs: a native gather, a Python function on threads, and images."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import numpy as np

import penstock as ps
from bench.contenders.watching import watch
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    if options["pipeline"] == "images":
        ds = (
            ps.read_image_folder(options["folder"])
            .shuffle(seed=0)
            .map(ps.image.decode(), on="image")
            .map(ps.image.random_resized_crop(224), on="image")
            .map(ps.image.random_flip(), on="image")
            .batch(2, drop_remainder=True)
            .repeat()
        )
    else:
        ds = ps.Dataset.from_tensor_slices(np.load(options["data"])).shuffle(seed=0)
        if options["pipeline"] == "map":
            ds = ds.map(lambda image: image.astype(np.float32) / 255, num_parallel_calls=2)
        ds = ds.batch(options["batch"], drop_remainder=True).repeat()

    def run(tally: Tally, number: int) -> None:
        watch(ds, options, tally)

    return run
