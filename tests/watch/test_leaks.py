"""Memory that keeps growing is named with its holder; what grows for a while, or back and forth, is not."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, count

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tuning.tuner import Tuner
from penstock.engine.workers.processes.pool import pool_for
from penstock.engine.workers.processes.starting import PoolSetup
from penstock.watch import leaks
from penstock.watch.leaks import keeps_growing
from penstock.watch.verdict import verdict

MB = 1 << 20
INLINE = ps.Options(executor="inline")
of_module = []


@pytest.fixture(autouse=True)
def looks_often(monkeypatch):
    """Look at every item, and not only after some time."""
    monkeypatch.setattr("penstock.dataset.iterator.LOOK_AFTER", 0)
    monkeypatch.setattr(leaks, "FIRST_PAUSE", 0)


def stats_after(ds, items=150, keep=None):
    it, kept = ds.with_options(INLINE).iterator(), []
    for number, item in enumerate(it):
        if keep is not None:
            kept.append(keep(item))
        if number == items:
            break
    found = it.stats()
    it.close()
    return found


def megabyte(x):
    return np.ones(MB // 4, np.uint8)


class Source:
    def __init__(self):
        self.rows = {}

    def __len__(self):
        return 1000

    def __getitem__(self, i):
        return self.rows.setdefault(i, megabyte(i)).sum()


class Mapping:
    def __init__(self):
        self.seen = []

    def __call__(self, x):
        self.seen.append(megabyte(x))
        return x


def growing_list():
    mine = []

    def leaky(x):
        mine.append(megabyte(x))
        return x

    return ps.Dataset.range(1000).map(leaky), "map(leaky): the list mine "


def growing_global():
    of_module.clear()

    def leaky(x):
        of_module.append(megabyte(x))
        return x

    return ps.Dataset.range(1000).filter(lambda x: leaky(x) >= 0).batch(1), "the list leaky.of_module "


def growing_attribute():
    return ps.Dataset.range(1000).map(Mapping(), thread_safe=True).batch(1), "the list seen "


def growing_argument():
    def keep(kept, x):
        kept[x] = megabyte(x)
        return x

    return ps.Dataset.range(1000).map(partial(keep, {})).batch(1), "the dict "


def growing_source():
    return ps.Dataset.from_source(Source()), "the dict rows "


def growing_generator():
    kept = []

    def numbers():
        for number in count():
            kept.append(megabyte(number))
            yield number

    return ps.Dataset.from_generator(numbers), "the list kept "


GROWING = [growing_list, growing_global, growing_attribute, growing_argument, growing_source, growing_generator]


def test_slow_growth_is_told_to_a_consumer_that_is_slower_than_the_looks(monkeypatch):
    monkeypatch.setattr(Tuner, "group_items", lambda self, *, beside=False: 1)
    monkeypatch.setattr("penstock.dataset.iterator.perf_counter_ns", count().__next__)  # all items take as long
    kept = []
    ds = ps.Dataset.range(1000).map(lambda x: (kept.append(bytes(1 << 14)), x)[1], thread_safe=True)
    (told,) = stats_after(ds, items=1000).growing
    assert "the list kept " in told


@pytest.mark.parametrize("make", GROWING, ids=lambda make: make.__name__)
def test_an_object_that_a_function_adds_to_is_named_with_its_operation(make, monkeypatch):
    monkeypatch.setattr(Tuner, "group_items", lambda self, *, beside=False: 1)  # a look for each
    ds, named = make()
    stats = stats_after(ds)
    (told,) = stats.growing
    assert named in told
    assert " MB over " in told
    assert told in verdict(stats)
    assert f"memory grows: {told}" in str(stats)


def test_a_consumer_that_keeps_batches_is_named():
    ds = ps.Dataset.range(10_000).map(megabyte).batch(2)
    (told,) = stats_after(ds, keep=lambda batch: batch).growing
    assert told.startswith("the consumer keeps batches, which grew from ")


def test_groups_that_never_fill_are_named():
    ds = ps.Dataset.range(100_000).map(lambda x: np.full(1 << 12, x, np.int64))
    ds = ds.bucket_by_sequence_length(lambda x: 1 if int(x[0]) % 2 else 9, [2], [1, 100_000])
    (told,) = stats_after(ds, items=2000).growing
    assert "bucket_by_sequence_length" in told


@pytest.mark.parametrize(
    "ds",
    [
        ps.Dataset.range(1000).map(megabyte).batch(2).repeat(),
        ps.Dataset.range(1000).map(megabyte).cache().batch(2).repeat(),
        ps.Dataset.range(2000).filter(lambda x: True).map(megabyte).cache(),
        ps.Dataset.range(2000).map(lambda x: np.ones(int(x) * 10_000, np.uint8)).batch(1),
        ps.Dataset.range(2000).filter(lambda x: True).map(megabyte).shuffle(100, seed=1),
    ],
    ids=["steady", "a cache", "a cache of a stream", "growing batches", "a shuffle buffer"],
)
def test_what_has_a_limit_is_no_leak(ds):
    assert stats_after(ds).growing == ()


def test_a_consumer_that_works_on_some_batches_is_no_leak():
    last = []

    def keep(batch):
        last.append(batch)
        del last[:-8]

    assert stats_after(ps.Dataset.range(10_000).map(megabyte).batch(2), keep=keep).growing == ()


def test_a_table_that_is_filled_at_first_is_no_leak():
    table = {}

    def looked_up(x):
        return table.setdefault(int(x) % 20, megabyte(x))

    assert stats_after(ps.Dataset.range(10_000).map(looked_up, thread_safe=True)).growing == ()


@pytest.mark.parametrize(
    ("sizes", "grows"),
    [
        ([MB * i for i in range(20)], True),
        ([MB * i for i in chain(range(20), [19] * 20)], False),  # a warm-up
        ([MB * (i % 7) * 5 for i in range(30)], False),
        ([1000 * i for i in range(30)], False),  # too little
        ([MB * i * (1 + i % 2) for i in range(30)], False),  # too uneven to say
        ([0, 0, 100 * MB], False),  # one step
        ([5 * MB] * 20, False),
        ([], False),
    ],
)
def test_only_steady_growth_is_told(sizes, grows):
    assert keeps_growing(sizes) is grows


def test_nothing_is_said_after_a_few_looks():
    mine = []
    ds = ps.Dataset.range(10).map(lambda x: (mine.append(np.ones(8 * MB, np.uint8)), x)[1])
    assert stats_after(ds).growing == ()


def leaky_in_c(x):
    import ctypes

    library = ctypes.CDLL(None)
    library.malloc.restype = ctypes.c_void_p
    ctypes.memset(library.malloc(MB // 4), 1, MB // 4)
    return x


def keeps(x, kept=[]):  # noqa: B006 - grows on purpose
    kept.append(megabyte(x))
    return x + 0 * sum(range(100_000))  # long enough for a worker to look often


@pytest.fixture(scope="module")
def workers():
    """Two worker processes that are kept ready, and a pool."""
    pool = pool_for(PoolSetup(2), 1 << 30)
    assert pool.crew.begun.wait(60)
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as handed_in:
        yield {"processes": ps.Options(executor="processes", workers=2), "pool": ps.Options(executor=handed_in)}
    pool.close()


@pytest.mark.parametrize("way", ["processes", "pool"])
@pytest.mark.parametrize(
    ("function", "told"),
    [
        (keeps, "in worker processes, map(keeps): the list default that its function refers to grew from "),
        (leaky_in_c, "the memory of the worker processes that make map(leaky_in_c) grew from "),
        (megabyte, None),
    ],
    ids=["an object of a function", "memory of C", "nothing"],
)
def test_what_grows_in_worker_processes_is_named_with_its_operation(way, function, told, workers, monkeypatch):
    monkeypatch.setattr(Tuner, "group_items", lambda self, *, beside=False: 1)
    ds = ps.Dataset.range(400).map(function).prefetch(4)  # else tasks may all be made before the first look
    with ds.with_options(workers[way]).iterator() as it:
        for _ in it:
            pass
        growing = it.stats().growing
    assert [each.startswith(told) for each in growing] == [True] if told else growing == ()
