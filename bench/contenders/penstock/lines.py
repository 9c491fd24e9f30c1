"""Penstock over files of lines, as in the documentation."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version as installed
from typing import Any

import penstock as ps
from bench.looked import look_at_lines, look_at_objects
from bench.tally import Tally


def version() -> str:
    return installed("penstock")


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    is_json = options["kind"].startswith("json")
    ds = ps.read_json(options["json"]) if is_json else ps.read_text(options["text"])
    if "shuffled" in options["kind"]:
        ds = ds.shuffle()
    ds = ds.batch(options["batch"], drop_remainder=True)
    look = look_at_objects if is_json else look_at_lines

    def run(tally: Tally, number: int) -> None:
        for batch in ds:
            look(tally, batch)

    return run
