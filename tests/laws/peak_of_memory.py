"""Run pipelines with elements from 1 KB to 50 MB, and print the most memory that all processes take together.

Arguments: the executor, the budget in bytes, and names of pipelines unless all are to run.
Each line is a name and the bytes above those of idle processes.
"""

from __future__ import annotations

import mmap
import multiprocessing
import os
import sys
import threading
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from time import sleep

import numpy as np

import penstock as ps
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup

D = ps.Dataset
MB = 1 << 20
COUNT = 45
SIZES = np.random.default_rng(0).permutation(np.geomspace(1 << 10, 50 * MB, COUNT).astype(int))
"""Bytes of elements: half of them below 250 KB, five above 15 MB; 230 MB in all."""


def make(x):
    return np.full(SIZES[int(x) % COUNT], 1, np.uint8)


def short(most):
    return lambda x: make(x)[:most].copy()


def generated():
    yield from map(make, range(COUNT))


ROWS = D.range(COUNT).map(make)
PIPELINES = {
    "map": ROWS,
    "prefetch": ROWS.prefetch(50),
    "batch": ROWS.batch(1),
    "padded_batch": D.range(COUNT).map(short(8 * MB)).padded_batch(3),
    "ragged_batch": ROWS.ragged_batch(2),
    "filter": ROWS.filter(lambda x: len(x) % 3 > 0),
    "unbatch": D.range(COUNT).map(short(8 * MB)).padded_batch(3).unbatch(),
    "generator": D.from_generator(generated).map(lambda x: x + 1).prefetch(50),
    "small results of a generator": D.from_generator(generated).map(len).prefetch(50),
    "shuffle": D.from_generator(generated).shuffle(8, seed=1),
    "shuffle of bytes": D.from_generator(generated).shuffle(buffer_bytes=60 * MB, seed=1),
    "interleave": D.range(6).interleave(lambda x: D.range(int(x) * 10, int(x) * 10 + 10).map(make), cycle_length=4),
    "flat_map": D.range(6).flat_map(lambda x: D.range(int(x) * 10, int(x) * 10 + 10).map(make)),
    "zip": D.zip(ROWS.filter(lambda x: True), D.from_generator(generated)),
    "cache": ROWS.cache().repeat(2),
    "cache of a stream": D.from_generator(generated).cache().repeat(2),
    "pack": D.range(COUNT).map(lambda x: make(x)[::64].astype(np.int32)).pack(1 << 16, window=1 << 20).batch(8),
    "batch of a stream": D.range(COUNT).map(short(8 * MB)).filter(lambda x: True).padded_batch(4),
    "bucket": D.range(COUNT)
    .map(short(4 * MB))
    .bucket_by_sequence_length(len, [1 << 14, 1 << 18, 1 << 20], [4, 4, 4, 2], drop_remainder=False),
}


def private(pid):
    """Return the memory of a process that belongs to no file, in bytes; 0 once it has ended."""
    try:
        with open(f"/proc/{pid}/statm", encoding="utf-8") as file:
            _, resident, of_files, *_ = map(int, file.read().split())
    except OSError:
        return 0
    return (resident - of_files) * mmap.PAGESIZE


def descendants(pid):
    """Yield all processes below one, which may end meanwhile."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as file:
                for child in file.read().split():
                    yield child
                    yield from descendants(child)


def shared():
    """Return the memory that the processes share, in bytes: files without a name, each once."""
    files = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if "memfd:penstock" in os.readlink(f"/proc/self/fd/{name}"):
                told = os.stat(f"/proc/self/fd/{name}")
                files[told.st_ino] = 512 * told.st_blocks
    return sum(files.values())


class Sampler:
    """A thread that notes the most memory that some processes have together."""

    def __init__(self, pids):
        self.most = 0
        self._pids = pids
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self._ended.wait(0.002):
            self.look()

    def look(self):
        self.most = max(self.most, shared() + sum(map(private, self._pids)))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.look()
        self._ended.set()
        self._thread.join()


def measured(name, run, idle, pids):
    """Run, and print the most memory meanwhile above that of idle processes."""
    with Sampler(pids) as sampler:
        run()
    print(name, sampler.most - idle, flush=True)


def options_for(executor, budget):
    """Return options with an executor whose workers have begun."""
    if executor == "pool":
        pool = ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver"))
        for each in [pool.submit(sleep, 0.2) for _ in range(2)]:
            each.result()
        return ps.Options(executor=pool, memory_budget=budget)
    return ps.Options(executor=executor, workers=None if executor == "inline" else 2, memory_budget=budget)


def main(executor, budget, *names):
    options = options_for(executor, budget)
    warm = D.range(2000).map(lambda x: x + 1).with_options(options)
    for _ in range(2):
        list(warm)
    if executor == "processes":
        assert pool_for(PoolSetup(2, budget=budget), budget).crew.begun.wait(60)
        list(warm)
    pids = ["self", *descendants("self")]
    idle = sum(map(private, pids))

    def items_of(ds):
        for item in ds.with_options(options):
            del item

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names or list(PIPELINES):
            ds = PIPELINES.pop(name)  # its caches go with it
            measured(name, lambda ds=ds: items_of(ds), idle, pids)
        measured("everything at once", lambda: list(map(make, range(2 * COUNT))), idle, pids)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
