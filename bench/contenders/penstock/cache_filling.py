"""Penstock's first epoch over images with a cache on disk: a run begins with an empty folder."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    folders: list[tempfile.TemporaryDirectory[str]] = []

    def run(tally: Tally, number: int) -> None:
        while folders:
            folders.pop().cleanup()
        folders.append(tempfile.TemporaryDirectory(dir=options["folder"].rpartition("/")[0]))
        ds = decoded(options).cache(folders[0].name)
        tally.start()
        delivered(ds, options, tally)

    return run


def decoded(options: dict[str, Any]) -> ps.Dataset[Any]:
    """Return the images of the folder, decoded and resized."""
    ds = ps.read_image_folder(options["folder"]).map(ps.image.decode(), on="image")
    return ds.map(ps.image.resize((224, 224)), on="image")


def delivered(ds: ps.Dataset[Any], options: dict[str, Any], tally: Tally) -> None:
    """Take an epoch of shuffled batches."""
    for batch in ds.shuffle(seed=0).batch(options["batch"], drop_remainder=True):
        tally.add(batch["image"], batch["label"])
