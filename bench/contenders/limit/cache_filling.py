"""The limit of `cache filling`: the same epoch of Penstock without a cache."""

from __future__ import annotations

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

    ds = decoded().shuffle(seed=0).batch(options["batch"], drop_remainder=True)

    def run(tally: Tally, number: int) -> None:
        for batch in ds:
            tally.add(batch["image"], batch["label"])

    return run
