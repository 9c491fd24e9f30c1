"""Time a batch of 9.6 MB by a `ProcessPoolExecutor` that is handed in, by worker processes and inline.

Run as `python -m bench.handed_in`; the functions do no work, so it is the way of the arrays that takes the time.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from time import perf_counter, process_time
from typing import Any

import numpy as np

import penstock as ps

ROW = 150_528  # bytes: an image of 224 x 224 x 3
BATCH = 64
WARM, TIMED = 30, 100  # batches


def element(row: int) -> np.ndarray:
    return np.full(ROW, row % 251, np.uint8)


def milliseconds(executor: Any) -> tuple[float, float]:
    """Return the time of a batch, and the CPU time that this process needs for it, in ms."""
    ds = ps.Dataset.range((WARM + TIMED) * BATCH).map(element).batch(BATCH)
    with ds.with_options(ps.Options(executor=executor, workers=2)).iterator() as batches:
        for _ in islice(batches, WARM):
            pass
        began, began_cpu = perf_counter(), process_time()
        count = sum(1 for _ in batches)
        return 1e3 * (perf_counter() - began) / count, 1e3 * (process_time() - began_cpu) / count


if __name__ == "__main__":
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        for name, executor in [("inline", "inline"), ("processes", "processes"), ("handed in", pool)]:
            wall, cpu = milliseconds(executor)
            print(f"{name:<10} {wall:6.1f} ms a batch, {cpu:6.1f} ms of CPU time here")
