"""Penstock: all records of all files shuffled, parsed a batch at a time, as in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.clicks import FLOATS, LISTS, Look
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    features: dict[str, Any] = {name: ps.records.FixedLenFeature([], "float32") for name in FLOATS}
    features |= {name: ps.records.RaggedFeature("int64") for name in LISTS}
    features["id"] = ps.records.FixedLenFeature([], bytes)
    parse = ps.records.parse_example(features)
    ds = ps.read_tfrecord(options["files"]).shuffle(seed=0).batch(options["batch"]).map(parse)

    def run(tally: Tally, number: int) -> None:
        look = Look()
        for batch in ds:
            lists = [(batch[name].flat_values, batch[name].row_lengths()) for name in LISTS] if tally.thorough else []
            look.batch(tally, [batch[name] for name in FLOATS], lists, batch["id"])

    return run
