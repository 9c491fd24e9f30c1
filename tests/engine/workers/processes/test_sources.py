"""A worker process opens a source for itself, and holds nothing of it that grows with the number of rows."""

from __future__ import annotations

import os

import numpy as np
import pytest

import penstock as ps
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
from tests.workers import PATIENCE

D = ps.Dataset
OPTIONS = ps.Options(executor="processes", workers=1)
MOST = 6 << 20  # bytes that a worker's interpreter, reader and batches may take more for one source than for another
TEXTS = [f"text {number}" for number in range(300_000)]  # 18 MB of Python objects


@pytest.fixture(scope="module", autouse=True)
def ready():
    """Keep a worker that has made tasks of a small plan and opened files."""
    pool = pool_for(PoolSetup(1), 1 << 28)
    assert pool.crew.begun.wait(3 * PATIENCE)
    yield pool
    pool.close()


def array_file(folder):
    path = folder / "rows.npy"  # 10⁸ rows of 2 bytes, of which the disk has none
    np.lib.format.open_memmap(path, "w+", np.int16, (10**8,)).flush()
    return path


def lines(folder):
    path = folder / "lines.txt"
    path.write_bytes(b"a\n" * 2_000_000)  # an index of 16 MB
    return path


def records(folder):
    path = folder / "one.tfrecord"
    D.from_tensors(b"x").write_tfrecord(path)
    path = folder / "many.tfrecord"
    path.write_bytes((folder / "one.tfrecord").read_bytes() * 1_000_000)  # an index of 8 MB
    return path


SOURCES = {
    "range": lambda folder: D.range(10**8),
    "array file": lambda folder: ps.read_numpy(array_file(folder)),
    "memory map": lambda folder: D.from_tensor_slices(np.load(array_file(folder), mmap_mode="r")),
    "array": lambda folder: D.from_tensor_slices(np.zeros(10_000_000, np.int32)),
    "records of one length": lambda folder: ps.read_fixed_length(array_file(folder), 2),
    "lines": lambda folder: ps.read_text(lines(folder)),
    "TFRecord": lambda folder: ps.read_tfrecord(records(folder)),
    "list of texts": lambda folder: D.from_tensor_slices(TEXTS),
    "source of texts": lambda folder: D.from_source(TEXTS),
}


def held(element):
    """Return the process, and the memory that only it has."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as file:
        told = next(line.split()[1] for line in file if line.startswith("Pss_Anon"))
    return os.getpid(), int(told) << 10


def most_held(ds):
    """Return the most memory that the worker had while it read some rows from everywhere."""
    told = list(ds.shuffle(seed=0).take(200).map(held).with_options(OPTIONS))
    found = [nbytes for process, nbytes in told if process != os.getpid()]
    assert found
    return max(found)


@pytest.mark.skipif(not os.path.exists("/proc/self/smaps_rollup"), reason="the system does not tell the memory in use")
@pytest.mark.parametrize("kind", SOURCES)
def test_a_worker_holds_no_more_of_many_rows_than_of_few(kind, tmp_path):
    np.save(tmp_path / "few.npy", np.zeros(1000, np.int16))
    few = most_held(ps.read_numpy(tmp_path / "few.npy"))
    assert most_held(SOURCES[kind](tmp_path)) - few < MOST
