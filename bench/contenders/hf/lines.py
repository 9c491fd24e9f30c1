"""Hugging Face datasets over files of lines: streamed directly, or read from the Arrow copy that it makes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import datasets
import numpy as np

from bench.looked import look_at_lines, look_at_objects
from bench.tally import Tally


def version() -> str:
    return datasets.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    datasets.disable_progress_bars()
    is_json, streamed = options["kind"].startswith("json"), not options.get("copied", False)
    kind = "json" if is_json else "text"
    loaded = datasets.load_dataset(
        kind, data_files=options[kind], split="train", streaming=streamed, cache_dir=tempfile.mkdtemp()
    )
    if is_json:
        loaded = loaded.with_format("numpy")

    def run(tally: Tally, number: int) -> None:
        ds = loaded.shuffle(seed=number) if "shuffled" in options["kind"] else loaded
        for batch in ds.iter(options["batch"], drop_last_batch=True):
            if is_json:
                look_at_objects(tally, batch)
            else:
                lines = batch["text"]  # a list
                look_at_lines(tally, lines if options.get("listed", False) else np.array(lines, object))

    return run
