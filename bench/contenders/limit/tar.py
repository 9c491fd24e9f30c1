"""The limit of `tar`: slices of mapped archives at known offsets, in a precomputed order."""

from __future__ import annotations

import glob
import mmap
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.tally import Tally


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    places: list[tuple[mmap.mmap, int, int, int, int]] = []  # for each sample: its file, content and number
    for path in sorted(glob.glob(options["files"])):
        with open(path, "rb") as file, tarfile.open(path) as tar:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            spans = [(info.offset_data, info.offset_data + info.size) for info in tar]
        places += [(mapped, *content, *number) for content, number in zip(spans[::2], spans[1::2], strict=True)]
    order = np.random.default_rng(0).permutation(len(places)).tolist()
    batch = options["batch"]

    def run(tally: Tally, number: int) -> None:
        for low in range(0, len(order) // batch * batch, batch):
            rows = [places[i] for i in order[low : low + batch]]
            contents = [file[begin:end] for file, begin, end, _, _ in rows]
            numbers = np.array([int(file[begin:end]) for file, _, _, begin, end in rows])
            assert len(contents) == len(numbers)
            tally.add(numbers, numbers)

    return run
