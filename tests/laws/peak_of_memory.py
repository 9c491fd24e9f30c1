"""Run pipelines with elements from 1 KB to 50 MB, each in a process of its own, and print the most memory it takes.

Arguments: the executor and the budget in bytes. Each line is a name and the bytes above those at the beginning.
"""

from __future__ import annotations

import os
import sys
import warnings

import numpy as np

import penstock as ps

D = ps.Dataset
MB = 1 << 20
COUNT = 60
SIZES = np.random.default_rng(0).permutation(np.geomspace(1 << 10, 50 * MB, COUNT).astype(int))
"""Bytes of elements: half of them below 250 KB, seven above 15 MB; 290 MB in all."""


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


def peak():
    """Return the most anonymous memory that this process had, in bytes, since `reset`."""
    with open("/proc/self/status", encoding="utf-8") as file:
        told = dict(line.split(":", 1) for line in file if line.startswith(("VmHWM", "RssFile")))
    return (int(told["VmHWM"].split()[0]) - int(told["RssFile"].split()[0])) << 10


def reset():
    with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")


def measured(name, run):
    """Run in a forked process, and print the memory above that at its beginning."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        assert os.waitpid(child, 0)[1] == 0, name
        return
    reset()
    before = peak()
    run()
    print(name, peak() - before, flush=True)
    os._exit(0)


def main(executor, budget):
    workers = None if executor == "inline" else 2
    options = ps.Options(executor=executor, workers=workers, memory_budget=budget)

    def items_of(ds):
        for item in ds.with_options(options):
            del item

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, ds in PIPELINES.items():
            measured(name, lambda ds=ds: items_of(ds))
        measured("everything at once", lambda: list(map(make, range(2 * COUNT))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
