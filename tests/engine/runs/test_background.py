"""Work of flows in the background: the run has threads for it, except inline."""

from __future__ import annotations

import gc
import gzip
import math
import os
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.sources.tfrecord.writing import framed
from penstock.testing.laws import same
from tests.workers import await_workers

TASKS = "/proc/self/task"
LINES = [f"{i},{'a' * 250}" for i in range(40_000)]  # 10 MB, which no file's thread has read by its first element
PIPELINES = ["text", "csv", "tfrecord", "text in flat_map", "pack"]


@pytest.fixture(params=PIPELINES)
def dataset(request, tmp_path):
    """A stream whose flow still works ahead when its first elements are handed out."""
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.csv.gz").write_bytes(gzip.compress("\n".join(["x,y", *LINES]).encode(), 1))
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress(b"".join(framed(line.encode()) for line in LINES), 1))
    paths = [str(tmp_path / f"{name}.csv.gz") for name in ("a", "b", "c")]
    if request.param == "text":
        return ps.read_text(paths).batch(1000)
    if request.param == "csv":
        return ps.read_csv(paths).batch(1000)
    if request.param == "tfrecord":
        return ps.read_tfrecord(sorted(tmp_path.glob("?.gz"))).batch(1000)
    if request.param == "text in flat_map":
        return ps.Dataset.range(3).flat_map(lambda i: ps.read_text(paths[i])).batch(1000)
    rows = ps.Ragged.from_row_lengths(np.arange(1_500_000, dtype=np.int32), np.full(1500, 1000))
    return ps.Dataset.from_tensor_slices(rows).pack(1024).batch(50)


def threads():
    """All threads of the process, also native ones where the system lists them."""
    return set(os.listdir(TASKS)) if os.path.isdir(TASKS) else set(threading.enumerate())


def test_inline_there_is_no_other_thread_and_the_elements_are_the_same(dataset):
    gc.collect()
    await_workers()
    before = threads()
    made = []
    inline = ps.Options(executor="inline", stuck_after=math.inf)  # without the watchdog's thread
    with dataset.with_options(inline).iterator() as it:
        for batch in it:
            assert threads() <= before
            made.append(batch)
    assert same(made, list(dataset))


@pytest.mark.skipif(not os.path.isdir(TASKS), reason="the system does not list native threads")
def test_by_default_a_thread_works_ahead(dataset):
    gc.collect()
    await_workers()
    before = threads()
    with dataset.iterator() as it:
        next(it)
        assert threads() - before
