"""Stats of a real run: counts are exact, times add up."""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings

import penstock as ps
from penstock import Dataset, Options
from penstock.engine.runs.lowering import in_turns, opened
from penstock.engine.runs.scope import CarryOver
from penstock.engine.runs.session import Session
from penstock.engine.tuning.settings import settings_of
from penstock.ops.combine.flat_map import FlatMap
from penstock.ops.combine.turns import Turns
from penstock.ops.order.streams import StreamRows
from penstock.plan.graph import post_order, rebuild
from penstock.rewrite.passes import PASSES, rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.streams import streams
from penstock.watch.counters import Counters
from tests.draws import draws


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
        stats = run(Dataset.range(20).map(lambda x: x + 1).batch(4).with_options(Options(workers=workers)))
        assert stats.waited > 0
        assert stats.stepped >= 0
        assert stats.seconds == pytest.approx(stats.waited + stats.stepped)
        assert all(min(operation.wall, operation.cpu, operation.wait) >= 0 for operation in stats.operations)
        assert sum(operation.wall for operation in stats.operations) <= stats.work * 1.01  # each call is measured
        assert 0 <= stats.wait_share <= 1


def test_requested_workers_are_shown_with_the_reason():
    stats = run(Dataset.range(20).batch(4).with_options(Options(workers=3)))
    assert (stats.workers, stats.asked, stats.mode) == (3, 3, "3 threads")
    assert run(Dataset.range(20)).asked == 0
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


# Operations as written


def kept(x):
    return x % 3 > 0


@pytest.mark.parametrize(
    ("ds", "names"),
    [
        (Dataset.range(9).flat_map(lambda x: [x]), ["range", "flat_map"]),
        (Dataset.range(9).interleave(lambda x: [x]).flat_map(lambda x: [x]), ["range", "interleave", "flat_map"]),
        (Dataset.range(9).unique().map(kept).unique(), ["range", "unique", "map", "unique"]),
        (Dataset.range(9).filter(kept).batch(2).unbatch(), ["range", "filter", "batch", "unbatch"]),
        (
            Dataset.range(9)
            .group_by_window(lambda x: x % 2, lambda key, of_key: of_key.batch(3), window_size=3)
            .map(len),
            ["range", "group_by_window", "map"],
        ),
        (
            Dataset.range(9).take_while(kept).flat_map(lambda x: [x], on_error="skip").take_while(kept),
            ["range", "take_while", "flat_map", "take_while"],
        ),
        (Dataset.range(9).rejection_resample(lambda x: x % 2, [0.5, 0.5]), ["range", "rejection_resample"]),
    ],
)
def test_stats_have_one_line_for_each_operation_as_written(ds, names):
    it = ds.iterator()
    list(it)
    operations = it.stats().operations
    assert [operation.name.partition("(")[0] for operation in operations] == names
    assert operations[-1].rows == it.stats().rows


def test_the_time_of_a_part_counts_for_the_whole_operation():
    def fails(x):
        if x == 7:
            raise LookupError(x)
        return [x, x]

    it = Dataset.range(1000).flat_map(fails, on_error="skip").iterator()
    list(it)
    parts, (source, whole) = it._counters.operations, it.stats().operations
    assert len(parts) == 4
    assert (source.rows, whole.rows, whole.failed) == (1000, 1998, 1)
    assert whole.wall > 1e-9 * max(part.total()[2] - sum(each.total()[2] for each in part.inputs) for part in parts[1:])


def listed(x):
    return [sum(range(200_000)), x]


def generated(x):
    yield sum(range(200_000))
    yield x


@pytest.mark.parametrize(("function", "sequential"), [(listed, False), (generated, True)])
def test_an_operation_is_sequential_if_its_longest_part_is(function, sequential):
    operations = run(Dataset.range(20).flat_map(function)).operations
    assert operations[-1].sequential is sequential


def numbered(plan):
    """Yield the label of each operation of a plan as run, from the sources up; those of virtual streams once."""
    for node in post_order(rebuild(plan, in_turns)):
        if isinstance(node, Turns):
            yield from numbered(node.plans[0])
        if isinstance(node, FlatMap):
            yield "unpack()"
        if not isinstance(node, StreamRows):
            yield node.label()


def assert_counted(ds):
    plan = rewritten(bind_seeds(ds._plan, 0), PASSES).plan
    counters = Counters()
    opened(plan, Session(settings_of(plan), CarryOver(), counters).scope())
    assert [operation.node.label() for operation in counters.operations] == list(numbered(plan))


@given(streams())
@settings(max_examples=draws(100))
def test_operations_are_counted_in_the_order_of_the_plan(ds):
    assert_counted(ds)


@pytest.mark.parametrize(
    "ds",
    [
        Dataset.range(9).filter(kept).shard(2, 0, streams=4).batch(2),
        Dataset.range(9).flat_map(lambda x: [x]).map(kept).filter(kept).shard(2, 0, streams=4).unique(),
        Dataset.zip((Dataset.range(9).filter(kept), Dataset.range(9).unique().flat_map(lambda x: [x]).map(kept))),
        Dataset.zip((Dataset.range(9).unique().map(kept), Dataset.range(9).filter(kept).shard(2, 1, streams=4))),
        Dataset.range(9).unique().filter(kept).shuffle(2).unique().flat_map(lambda x: [x]),
        Dataset.range(9).rejection_resample(kept, [0.5, 0.5], [0.3, 0.7]).shard(1, 0, streams=1),
    ],
    ids=str,
)
def test_operations_of_cut_and_joined_streams_are_counted_in_the_order_of_the_plan(ds):
    assert_counted(ds)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("ds", [Dataset.range(60), Dataset.range(60).filter(kept)], ids=["rows", "stream"])
def test_a_forked_child_counts_the_same_operations_on(ds):
    it = ds.batch(4).iterator()
    before = [next(it).tolist() for _ in range(3)]
    asks, told = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            batch, operations = next(it).tolist(), it.stats().operations
            os.write(told, json.dumps([batch, [each.name for each in operations], operations[-1].rows]).encode())
        finally:
            os._exit(0)
    os.close(told)
    with open(asks, encoding="utf-8") as lines:
        batch, names, rows = json.load(lines)
    os.waitpid(child, 0)
    assert batch not in before
    names = [name.partition("(")[0] for name in names]
    assert names == (["range", "batch"] if ds.cardinality() > 0 else ["range", "filter", "batch"])
    assert rows >= 4
