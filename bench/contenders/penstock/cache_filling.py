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
    def decoded() -> ps.Dataset[Any]:
        ds = ps.read_image_folder(options["folder"]).map(ps.image.decode(), on="image")
        return ds.map(ps.image.resize((224, 224)), on="image")

    folders: list[tempfile.TemporaryDirectory[str]] = []

    def run(tally: Tally, number: int) -> None:
        while folders:
            folders.pop().cleanup()
        folders.append(tempfile.TemporaryDirectory(dir=options["folder"].rpartition("/")[0]))
        ds = decoded().cache(folders[0].name).shuffle(seed=0).batch(options["batch"], drop_remainder=True)
        tally.start()
        for batch in ds:
            tally.add(batch["image"], batch["label"])

    return run
