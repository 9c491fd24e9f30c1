"""Whole batches and the rows of a rank."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.ops.order.ranks import PadToMultiple, RankRows, WholeBatches
from penstock.plan.graph import rank_rows
from tests.plan.flows import stream_of

REMAINDERS = st.sampled_from(["drop", "wrap", "uneven"])


def rows(node, epoch=0):
    """The rows of the input that an epoch consists of."""
    return node.rows_of(np.arange(epoch * node.stride, (epoch + 1) * node.stride)).tolist()


@given(st.integers(1, 30), st.integers(1, 8), REMAINDERS, st.integers(0, 2))
def test_an_epoch_of_whole_batches(count, size, remainder, epoch):
    node = WholeBatches(ps.Dataset.range(count)._plan, size, remainder)
    found = [row - epoch * count for row in rows(node, epoch)]
    assert len(found) == node.length
    assert remainder == "uneven" or node.length % size == 0
    full = [row % count for row in range(count + size)]
    assert found == full[: node.length]
    assert abs(node.length - count) < size


@given(st.integers(0, 30), st.integers(1, 8), st.integers(1, 6), st.booleans(), st.integers(0, 2))
def test_the_rows_of_all_ranks_are_all_rows(count, batch, world, strided, epoch):
    plan = ps.Dataset.range(count)._plan
    ranks = [RankRows(plan, batch, strided, rank, world) for rank in range(world)]
    found = sorted(row for rank in ranks if rank.length for row in rows(rank, epoch))
    assert found == list(range(epoch * count, (epoch + 1) * count))


def test_of_endless_rows():
    node = RankRows(ps.Dataset.counter()._plan, 4, False, 1, 2)
    assert node.length == ps.INFINITE
    assert node.rows_of(np.array([0, 1, 2, 200_001])).tolist() == [2, 3, 6, 400_003]


@given(st.integers(0, 20), st.integers(1, 6), REMAINDERS)
def test_a_stream_has_the_rows_of_an_index(count, size, remainder):
    node = WholeBatches(ps.Dataset.range(count)._plan, size, remainder)
    pieces = list(node.flow((stream_of(range(count), [3, 1]),), 0, None, np.empty))
    assert [row for piece in pieces for row in piece.chunk.elements()] == (rows(node) if count else [])


@pytest.mark.parametrize(("count", "length"), [(0, 0), (5, 6), (6, 6)])
def test_padding_to_full_batches(count, length):
    node = PadToMultiple(ps.Dataset.range(count)._plan, 3, "valid")
    assert node.length == length


def test_the_node_of_a_rank_in_a_plan():
    ds = ps.Dataset.range(8).batch(4)
    assert rank_rows(ds._plan) is None
    assert rank_rows(ds.shard_by_rank(rank=1, world=2).prefetch(1)._plan).rank == 1
