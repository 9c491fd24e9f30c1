"""The plan of a rank, and that of its own virtual streams."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.ranks.parts import default_streams, of_rank, ranked, shared_plan
from penstock.dataset.ranks.stores import ThreadStore
from penstock.plan.fingerprint import fingerprint
from penstock.plan.graph import post_order


@given(st.integers(1, 10_000))
def test_streams_divide_the_batch_and_common_numbers_of_ranks_divide_the_streams(batch):
    streams = default_streams(batch)
    assert batch % streams == 0
    assert streams <= 64
    for world in (1, 2, 3, 4, 6, 8):
        assert batch % world or streams % world == 0


def stream(world=2, **arguments):
    ds = ps.Dataset.range(90).filter(lambda x: x > 1).batch(12)
    return ds.shard_by_rank(rank=0, world=world, group=ThreadStore(), **arguments)


def test_a_rank_of_a_job_shares_streams():
    plan = shared_plan(ranked(stream()._plan))
    assert [node.label() for node in post_order(plan)][2:] == [
        "shard(2, 0, streams=12)", 'whole_batches(6, remainder="drop")', "shard_by_rank(0 of 1, batch=6)",
        "batch(6, drop_remainder=True)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "ds",
    [
        ps.Dataset.range(90).batch(12).shard_by_rank(rank=0, world=2, group=ThreadStore()),
        ps.Dataset.range(90).filter(lambda x: x > 1).batch(12).shard_by_rank(rank=0, world=2),
        stream(streams=1),
        stream(world=6, streams=4),
        ps.Dataset.from_generator(lambda: iter(range(9))).batch(4).shard_by_rank(rank=0, world=2, group=ThreadStore()),
    ],
)
def test_no_streams_to_share(ds):
    assert shared_plan(ranked(ds._plan)) is None


def test_operations_that_drop_batches_end_the_steps_of_the_job():
    assert ranked(stream().filter(lambda x: True)._plan) is None
    assert ranked(ps.Dataset.range(9)._plan) is None


def test_the_plan_of_another_rank_has_the_same_fingerprint():
    plan = stream()._plan
    other = of_rank(plan, 2, 3)
    assert fingerprint(other) == fingerprint(plan)
    assert other.size == 4
