"""The shard's own part of a state, and the marks of the shard and of the plan within each other."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from penstock import Dataset, Options
from penstock.engine.cursors.sharding import Sharding, is_sharded
from penstock.rewrite.passes import PASSES, rewritten
from penstock.rewrite.seeds import bind_seeds

STREAM = Dataset.range(1000).filter(lambda x: x % 3 > 0)
PLANS = {
    "shard": lambda ds: ds,
    "map": lambda ds: ds.map(abs),
    "batch": lambda ds: ds.batch(4),
    "map and batch": lambda ds: ds.map(abs).batch(4).map(abs),
    "batches of batches": lambda ds: ds.batch(2).prefetch(1).batch(2).map(len),
}


def sharding(ds):
    return Sharding(ds._plan, lambda plan: rewritten(bind_seeds(plan, 0), PASSES).plan)


@pytest.mark.parametrize("name", PLANS)
def test_the_shards_mark_is_found_within_the_plans_mark(name):
    here = sharding(PLANS[name](STREAM.shard(2, 0, streams=4)))
    mark = [1, [[[7, 0], 12, 0], [[9, 3], 11, 0]]]
    assert here.shard_mark(here.plan_mark(mark, 5)) == mark


@pytest.mark.parametrize("name", PLANS)
def test_digests_are_the_same_for_any_number_of_shards_and_any_batch_size(name):
    two, four = (sharding(PLANS[name](STREAM.shard(count, count - 1, streams=4))) for count in (2, 4))
    assert (two.plan_digest, two.mark_form) == (four.plan_digest, four.mark_form)
    assert (
        sharding(STREAM.shard(2, 0, streams=4).batch(3)).plan_digest
        == sharding(STREAM.shard(4, 1, streams=4).batch(8)).plan_digest
    )


def test_only_shards_of_rows_or_of_virtual_streams_are_sharded():
    assert is_sharded(Dataset.range(9).shard(2, 0).batch(3)._plan)
    assert is_sharded(STREAM.shard(2, 0, streams=4).batch(3)._plan)
    assert not is_sharded(STREAM.shard(2, 0)._plan)
    assert not is_sharded(STREAM.shard(2, 0, streams=4).shuffle(5)._plan)


def test_the_state_of_a_shard_with_64_streams_takes_less_than_700_bytes():
    ds = STREAM.repeat().shard(2, 0, streams=64).batch(32)
    with ds.with_options(Options(seed=3)).iterator() as it:
        list(islice(it, 1000))
        assert len(json.dumps(it.state_dict())) < 700
