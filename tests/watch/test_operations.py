"""The operations that reports list: those that an observer counts, each as part of one that the user wrote."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.engine.runs.carry_over import CarryOver
from penstock.engine.runs.lowering import opened
from penstock.engine.runs.session import Session
from penstock.engine.runs.settings import settings_of
from penstock.rewrite.passes import PASSES, rewritten
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.streams import streams
from penstock.watch.counters import Counters
from penstock.watch.operations import operation_parts

D = ps.Dataset


def kept(x):
    return x % 3 > 0


@given(streams())
@settings(max_examples=150)
def test_operation_parts_are_those_that_an_observer_counts(ds):
    assert_counted(ds)


@pytest.mark.parametrize(
    "ds",
    [
        D.range(9).filter(kept).shard(2, 0, streams=4).batch(2),
        D.range(9).flat_map(lambda x: [x]).map(kept).filter(kept).shard(2, 0, streams=4).unique(),
        D.zip((D.range(9).filter(kept), D.range(9).unique().flat_map(lambda x: [x]).map(kept))),
        D.range(9).unique().filter(kept).shuffle(2).unique().flat_map(lambda x: [x]),
        D.range(9).rejection_resample(kept, [0.5, 0.5], [0.3, 0.7]).shard(1, 0, streams=1),
    ],
)
def test_operation_parts_of_cut_and_joined_streams_are_those_that_an_observer_counts(ds):
    assert_counted(ds)


def assert_counted(ds):
    plan = rewritten(bind_seeds(ds._plan, 0), PASSES).plan
    counters = Counters()
    opened(plan, Session(settings_of(plan), CarryOver(), counters))
    parts = operation_parts(plan)
    assert [part.node.label() for part in parts] == [operation.label for operation in counters.operations]
    places = [part.place for part in parts if part.is_whole]
    assert len(set(places)) == len(places)
    assert set(places) == {part.place for part in parts}


@pytest.mark.parametrize(
    ("ds", "names"),
    [
        (D.range(9).flat_map(lambda x: [x]), ["range", "flat_map"]),
        (D.range(9).interleave(lambda x: [x]).flat_map(lambda x: [x]), ["range", "interleave", "flat_map"]),
        (D.range(9).unique().map(kept).unique(), ["range", "unique", "map", "unique"]),
        (D.range(9).filter(kept).batch(2).unbatch(), ["range", "filter", "batch", "unbatch"]),
        (
            D.range(9).group_by_window(lambda x: x % 2, lambda key, of_key: of_key.batch(3), window_size=3).map(len),
            ["range", "group_by_window", "map"],
        ),
        (
            D.range(9).take_while(kept).flat_map(lambda x: [x], on_error="skip").take_while(kept),
            ["range", "take_while", "flat_map", "take_while"],
        ),
        (D.range(9).rejection_resample(lambda x: x % 2, [0.5, 0.5]), ["range", "rejection_resample"]),
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

    it = D.range(1000).flat_map(fails, on_error="skip").iterator()
    list(it)
    parts, (source, whole) = it._counters.operations, it.stats().operations
    assert len(parts) == 4
    assert (source.rows, whole.rows, whole.failed) == (1000, 1998, 1)
    assert whole.wall > 1e-9 * max(part.total()[2] - sum(each.total()[2] for each in part.inputs) for part in parts[1:])
