"""Stats of a real run: counts are exact, times add up."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options


def run(ds, taken=None):
    it = ds.iterator()
    for _ in range(taken) if taken is not None else it:
        if taken is not None:
            next(it)
    stats = it.stats()
    it.close()
    return stats


def test_a_run_that_has_not_begun_has_zero_counts():
    stats = Dataset.range(3).iterator().stats()
    assert (stats.items, stats.rows, stats.work, stats.seconds, stats.mode) == (0, 0, 0.0, 0.0, "not begun")
    assert stats.operations == ()


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1000, 1025])
@pytest.mark.parametrize("workers", [None, 2])
def test_every_row_is_counted_once(size, workers):
    ds = Dataset.range(size).map(lambda x: x).batch(8).with_options(Options(workers=workers))
    stats = run(ds)
    assert (stats.unit, stats.items, stats.rows) == ("batch", -(-size // 8), size)
    assert [operation.rows for operation in stats.operations] == [size, size, -(-size // 8)]
    assert [operation.name.partition("(")[0] for operation in stats.operations] == ["range", "map", "batch"]
    assert abs(stats.operations[-1].bytes - 8 * size) <= 8 * 8


@pytest.mark.parametrize("size", [1, 7, 8, 9, 1000])
@pytest.mark.parametrize("wrapped", [lambda x: x, lambda x: {"a": x, "b": x}, lambda x: (x, [x, x]), lambda x: "text"])
def test_rows_in_the_batches_of_a_stream_are_counted_too(size, wrapped):
    stats = run(Dataset.range(2 * size).filter(lambda x: x % 2 == 0).map(wrapped).batch(8))
    assert (stats.unit, stats.items, stats.rows) == ("batch", -(-size // 8), size)


def test_rows_of_ragged_batches_are_counted():
    stats = run(Dataset.range(6).filter(lambda x: True).map(np.arange).ragged_batch(4))
    assert (stats.items, stats.rows) == (2, 6)


def test_unbatched_elements_are_the_items():
    stats = run(Dataset.range(30).map(lambda x: x), 11)
    assert (stats.unit, stats.items, stats.rows) == ("element", 11, 11)


def test_times_are_not_negative_and_add_up():
    for workers in (None, 2):
        stats = run(Dataset.range(200).map(lambda x: x + 1).batch(4).with_options(Options(workers=workers)))
        assert stats.waited > 0
        assert stats.stepped >= 0
        assert stats.seconds == pytest.approx(stats.waited + stats.stepped)
        assert all(min(operation.wall, operation.cpu, operation.wait) >= 0 for operation in stats.operations)
        assert sum(operation.wall for operation in stats.operations) <= stats.work * 1.01
        assert 0 <= stats.wait_share <= 1


def test_requested_workers_are_shown_with_the_reason():
    stats = run(Dataset.range(20).batch(4).with_options(Options(workers=3)))
    assert (stats.workers, stats.mode) == (3, "3 threads")
    assert stats.decisions[0].startswith("3 threads: as requested")
    assert run(Dataset.range(20).with_options(Options(executor="inline"))).chosen


def test_stats_stay_as_they_were_at_the_end():
    it = Dataset.range(5).iterator()
    assert len(list(it)) == 5
    assert it.stats() == it.stats()


def third(x):
    return x % 3 == 0


def fails_at_seven(x):
    if x % 10 == 7:
        raise LookupError("seven")
    return x


def left_out(ds, options):
    return {
        operation.name.partition("(")[0]: (operation.left_out, operation.failed)
        for operation in run(ds.with_options(options)).operations
    }


@pytest.mark.parametrize("options", [Options(), Options(executor="inline"), Options(executor="threads", workers=2)])
def test_elements_left_out_are_counted(options):
    ds = Dataset.range(3000)
    assert left_out(ds.filter(third), options)["filter"] == (2000, 0)
    assert left_out(ds.filter(third).take(900).batch(2).filter(lambda batch: True), options)["filter"] == (0, 0)
    assert left_out(ds.map(fails_at_seven, on_error="skip"), options)["map"] == (0, 300)
    assert left_out(ds.map(fails_at_seven, on_error=ps.on_error.skip(999)).batch(7), options)["map"] == (0, 300)
    assert left_out(ds.map(fails_at_seven, on_error=ps.on_error.replace(0)).shuffle().batch(7), options)["map"] == (
        0,
        300,
    )
    assert left_out(ds.map(fails_at_seven).ignore_errors(), options)["ignore_errors"] == (0, 300)
    balanced = ds.rejection_resample(lambda x: int(third(x)), [0.5, 0.5], seed=0)
    kept = sum(1 for _ in balanced)
    assert 1000 < kept < 2900
    assert left_out(balanced, options)["rejection_resample"] == (3000 - kept, 0)
    assert left_out(balanced.take(5), options)["rejection_resample"][0] <= 3000 - kept
    assert left_out(ds.unique(lambda x: min(x, 1000)), options)["unique"] == (1999, 0)
    both = ds.filter(lambda x: fails_at_seven(x) % 2 == 0, on_error="skip").map(abs)
    assert left_out(both, options) == {"range": (0, 0), "filter": (1500, 300), "map": (0, 0)}


def test_elements_left_out_by_other_processes_are_counted():
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        options = Options(executor=executor)
        assert left_out(Dataset.range(300).filter(third), options)["filter"] == (200, 0)
        assert left_out(Dataset.range(300).map(fails_at_seven, on_error=ps.on_error.replace(0)), options)["map"] == (
            0,
            30,
        )
