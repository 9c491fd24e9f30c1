"""Virtual streams: the parts of each, counting in turns, and plans that cannot be cut."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import PlanError
from penstock.ops.order.streams import StreamRows
from penstock.ops.order.virtual import virtual_stream
from penstock.plan.graph import post_order
from tests.plan.flows import stream_of

KEPT = Dataset.range(40).filter(lambda x: x % 3 > 0)


def shards(ds, count, streams):
    return [list(ds.shard(count, index, streams=streams)) for index in range(count)]


def test_a_virtual_stream_is_made_from_every_nth_row():
    kept = [x for x in range(40) if x % 3 > 0]
    assert shards(KEPT, 4, 4) == [[x for x in kept if x % 4 == number] for number in range(4)]


def test_a_shard_makes_only_its_own_elements():
    seen = []
    ds = Dataset.range(40).map(lambda x: seen.append(x) or x).filter(lambda x: True)
    assert list(ds.shard(4, 1, streams=8)) == [x for low in range(0, 40, 8) for x in (low + 1, low + 5)]
    assert sorted(seen) == [x for x in range(40) if x % 4 == 1]


def test_only_the_topmost_indexed_part_is_cut():
    ds = Dataset.range(10).shuffle(seed=1).batch(2).filter(lambda x: True).map(abs)
    (rows,) = (node for node in post_order(virtual_stream(ds._plan, 1, 3).plan) if isinstance(node, StreamRows))
    assert rows.input.name == "batch"
    assert rows.length == 2
    both = Dataset.zip(KEPT, Dataset.range(9)).concatenate(Dataset.zip(Dataset.range(2), Dataset.range(2)))
    cut = [node for node in post_order(virtual_stream(both._plan, 0, 2).plan) if isinstance(node, StreamRows)]
    assert [rows.input.name for rows in cut] == ["range(40)", "range(9)", "zip"]


def test_an_endless_repeat_goes_on_after_a_pass_in_which_a_stream_had_no_element():
    ds = Dataset.range(6).shuffle(seed=1).filter(lambda x: x % 3 > 0).repeat()
    parts = [ds.shard(6, number, streams=6).take(20) for number in range(6)]
    assert [len(list(part)) for part in parts] == [20] * 6
    assert list(Dataset.range(6).filter(lambda x: x < 0).repeat().shard(2, 0, streams=2)) == []


def test_known_lengths_stay_known():
    scanned = Dataset.range(10).scan(0, lambda state, x: (state, x))
    for ds in (scanned, scanned.take(7), scanned.skip(2), scanned.batch(2), scanned.repeat(2), scanned.map(abs)):
        parts = [ds.shard(2, index, streams=4) for index in range(2)]
        assert [part.cardinality() for part in parts] == [len(list(part)) for part in parts]
    assert KEPT.shard(2, 0, streams=4).cardinality() == UNKNOWN
    assert scanned.repeat().shard(2, 0, streams=4).cardinality() == INFINITE
    assert KEPT.pad_to_cardinality(30).shard(2, 0, streams=4).cardinality() == 15


def test_with_as_many_elements_in_each_stream_shards_end_together():
    padded = KEPT.pad_to_cardinality(32).shard(2, 0, streams=4)
    assert len(list(padded)) == len(padded) == 16
    taken = KEPT.repeat().take(32)
    assert [len(part) for part in shards(taken, 4, 8)] == [8] * 4


@pytest.mark.parametrize("streams", [1, 2, 4, 6])
def test_elements_are_counted_in_turns(streams):
    ds = Dataset.range(60).filter(lambda x: True)
    for counted, wanted in (
        (ds.take(13), range(13)),
        (ds.skip(13), range(13, 60)),
        (ds.skip(5).skip(2).take(9), range(7, 16)),
        (ds.exclude([0, 5, 6]).take(0), range(0)),
        (ds.enumerate(100).map(lambda number, x: number - 100), range(60)),
        (ds.skip(3).enumerate().map(lambda number, x: number + 3), range(3, 60)),
    ):
        assert list(counted.shard(1, 0, streams=streams)) == list(wanted)
    left = sorted(ds.exclude([0, 5, 6]).shard(1, 0, streams=streams))
    assert left == [x for x in range(60) if x not in (0, 5, 6)]


def test_an_exact_mixture_keeps_its_proportions_within_a_turn_too():
    one, other = (Dataset.range(low, low + 400).filter(lambda x: True) for low in (0, 1000))
    mixed = Dataset.sample_from_datasets([one, other], [3, 1], exact=True).shard(1, 0, streams=8)
    turns = np.array(list(mixed.take(160))).reshape(20, 8)
    assert ((turns >= 1000).sum(axis=1) == 2).all()


def test_weights_that_change_do_so_in_turns():
    one, other = (Dataset.range(low, low + 400).filter(lambda x: True) for low in (0, 1000))
    for weights in ({0: [1, 0], 80: [0, 1]}, lambda step: [1, 0] if step < 1500 else [0, 1]):
        mixed = Dataset.sample_from_datasets([one.repeat(), other.repeat()], weights, seed=1).shard(1, 0, streams=2)
        changed = next(at for at, x in enumerate(mixed) if x >= 1000)
        assert changed in (80, 2048)  # a function is asked at every 1,024th element of each stream


def test_each_virtual_stream_draws_its_own_orders():
    ds = Dataset.range(64).filter(lambda x: True).shuffle(64, seed=1)
    first, second = (np.array(part) // 2 for part in shards(ds, 2, 2))
    assert sorted(first) == sorted(second) == list(range(32))
    assert first.tolist() != second.tolist()


def test_parts_of_a_split_are_those_of_the_whole():
    ds = KEPT.concatenate(KEPT).with_options(Options(seed=1))  # whose elements are numbered anew
    for part in ds.split({"a": 0.5, "b": 0.5}, key_func=int).values():
        assert sorted(x for shard in shards(part, 2, 4) for x in shard) == sorted(part)


def test_a_cache_stores_each_virtual_stream_separately():
    calls = []
    ds = Dataset.range(8).filter(lambda x: calls.append(x) or True).cache().shard(2, 0, streams=4)
    assert list(ds) == list(ds) == [0, 2, 4, 6]
    assert sorted(calls) == [0, 2, 4, 6]


@pytest.mark.parametrize(
    ("ds", "says"),
    [
        (KEPT.take_while(lambda x: x < 9), "take_while.*place it after shard"),
        (KEPT.unique().batch(2), "unique.*place it after shard"),
        (KEPT.group_by_reducer(lambda x: 0, int, lambda state, x: state), "group_by_reducer.*place it after shard"),
        (KEPT.assert_cardinality(26), r"assert_cardinality\(26\).*place it after shard"),
        (Dataset.from_generator(lambda: iter([1])).map(abs), "from_generator.*flat_map"),
        (Dataset.zip(KEPT, Dataset.from_generator(lambda: iter([1]))), "from_generator.*flat_map"),
        (KEPT.shard(2, 0, streams=2), "has already cut the stream"),
        (Dataset.zip(KEPT, KEPT.skip(1)), "pairs elements of different streams"),
        (Dataset.zip(KEPT.skip(6), Dataset.counter()), r"skip\(\) after it, or skip a multiple of 4"),
    ],
)
def test_operations_that_need_all_elements_are_refused_when_the_pipeline_is_built(ds, says):
    with pytest.raises(PlanError, match=says):
        ds.shard(2, 1, streams=4)


def test_refused_operations_work_after_the_shard():
    shard = KEPT.shard(2, 1, streams=4)
    assert list(shard.take_while(lambda x: x < 20)) == [1, 7, 5, 11, 13, 19, 17]
    assert len(list(shard.unique())) == len(list(shard.assert_cardinality(13))) == 13
    pairs = Dataset.zip(KEPT.skip(4), KEPT.skip(4), Dataset.counter()).shard(1, 0, streams=4)
    assert [(int(one), int(two), at) for one, two, at in pairs.take(3)] == [(8, 8, 0), (5, 5, 1), (10, 10, 2)]
    assert list(KEPT.assert_cardinality(INFINITE).take(4).shard(1, 0, streams=2)) == [2, 1, 4, 5]


@pytest.mark.parametrize(("streams", "says"), [(3, "multiple of num_shards=2"), (0, "streams=0"), (-2, "streams=-2")])
def test_streams_that_shards_cannot_share_are_refused(streams, says):
    for ds in (KEPT, Dataset.range(9)):
        with pytest.raises(ValueError, match=says):
            ds.shard(2, 1, streams=streams)


def test_rows_of_a_virtual_stream_pass_unchanged():
    rows = StreamRows(Dataset.range(9)._plan, 1, 4)
    assert (rows.indexed, rows.length, rows.elementwise) == (False, 2, True)
    (piece,) = stream_of([1, 5], (2,))(0)
    assert rows.spread(np.empty)(piece) is piece
