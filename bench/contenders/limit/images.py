"""The limit of `images`: one C++ call that turns files into crops on all cores, in bench/limits/images.cc."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.contenders.limit.compile import library
from bench.data import image_files
from bench.tally import Tally

DECODER = ("jpeg", "jpeg_baseline", "jpeg_scan", "jpeg_tables")


def version() -> str:
    return ""


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    batch, threads, floats = options["batch"], options["threads"], options["float"]
    epoch = library("images", ["-ljpeg"], DECODER).images_epoch
    files, labels = image_files(Path(options["folder"]))
    paths = (ctypes.c_char_p * len(files))(*(file.encode() for file in files))
    slots = 4 * batch  # as much memory as a shallow prefetch writes to
    shape = (slots, 3, 224, 224) if floats else (slots, 224, 224, 3)
    out = np.zeros(shape, dtype=np.float32 if floats else np.uint8)

    def go(order: np.ndarray, seed: int) -> None:
        epoch(
            paths,
            ctypes.c_void_p(order.ctypes.data),
            ctypes.c_int64(len(order)),
            ctypes.c_uint64(seed),
            threads,
            int(options["large"]),
            int(floats),
            ctypes.c_int64(slots),
            ctypes.c_void_p(out.ctypes.data),
        )

    def run(tally: Tally, number: int) -> None:
        order = np.random.default_rng(number).permutation(len(files))
        order = order[: len(files) // batch * batch]
        if not tally.thorough:
            tally.start()
            go(order, number)
            tally.rows = len(order)
            return
        for start in range(0, len(order), batch):
            piece = order[start : start + batch].copy()
            go(piece, number + start)
            tally.add(out[:batch], np.asarray(labels)[piece])

    return run
