"""Hugging Face datasets over tables: streamed directly, or read from the Arrow copy that it makes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any

import datasets

from bench.looked import look_at_rows
from bench.tally import Tally


def version() -> str:
    return datasets.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    datasets.disable_progress_bars()
    kind, streamed = options["kind"].split("-")[0], not options.get("copied", False)
    loaded = datasets.load_dataset(
        kind, data_files=options[kind], split="train", streaming=streamed, cache_dir=tempfile.mkdtemp()
    ).with_format("numpy")

    def run(tally: Tally, number: int) -> None:
        ds = loaded.shuffle(seed=number) if "shuffled" in options["kind"] else loaded
        for batch in ds.iter(options["batch"], drop_last_batch=True):
            look_at_rows(tally, batch)

    return run
