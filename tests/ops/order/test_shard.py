"""`shard`: disjoint parts that add up to the whole."""

from __future__ import annotations

import pytest

from penstock import INFINITE, Dataset
from tests.plan.flows import assert_streams


@pytest.mark.parametrize("size", [0, 1, 2, 7, 8, 9])
@pytest.mark.parametrize("shards", [1, 2, 3, 8, 20])
def test_a_shard_is_every_nth_element(size, shards):
    parts = [Dataset.range(size).shard(shards, index) for index in range(shards)]
    assert [list(part) for part in parts] == [list(range(index, size, shards)) for index in range(shards)]
    assert [len(part) for part in parts] == [len(list(part)) for part in parts]


def test_shards_of_a_shuffle_add_up_in_every_epoch():
    ds = Dataset.range(11).shuffle(seed=2)
    for epoch in (0, 1):
        parts = [list(ds.shard(3, index).iterator(epoch=epoch)) for index in range(3)]
        assert sorted(x for part in parts for x in part) == list(range(11))
        assert parts[0] == list(ds.iterator(epoch=epoch))[::3]


def test_endless_datasets_are_supported():
    ds = Dataset.counter().shard(3, 1)
    assert ds.cardinality() == INFINITE
    assert list(ds.take(3)) == [1, 4, 7]


@pytest.mark.parametrize(
    ("shards", "index", "says"),
    [(0, 0, "num_shards=0"), (-1, 0, "num_shards=-1"), (2, 2, "index=2.*num_shards=2"), (2, -1, "index=-1")],
)
def test_a_shard_that_does_not_exist_is_refused_at_once(shards, index, says):
    with pytest.raises(ValueError, match=says):
        Dataset.range(4).shard(shards, index)


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_streams_are_supported(size, count):
    for index in range(count):
        assert_streams(Dataset.range(1).shard(count, index)._plan, [range(size)], list(range(size))[index::count])
