"""Penstock's standard image pipeline, as in the README."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.tally import Tally

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    ds = (
        ps.read_image_folder(options["folder"])
        .shuffle(seed=0)
        .map(ps.image.decode(), on="image")
        .map(ps.image.random_resized_crop(224, antialias=options["antialias"]), on="image")
        .map(ps.image.random_flip(), on="image")
    )
    if options["float"]:
        ds = ds.map(ps.image.normalize(MEAN, STD), on="image").map(ps.image.to_chw(), on="image")
    ds = ds.batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for batch in ds:
            tally.add(batch["image"], batch["label"])

    return run
