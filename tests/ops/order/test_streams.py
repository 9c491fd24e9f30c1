"""Virtual streams as nodes: their row counts, and the plan that runs for a shard of them."""

from __future__ import annotations

import pytest

from penstock import INFINITE, UNKNOWN, Dataset
from penstock.ops.order.streams import StreamRows, VirtualStreams, share

KEPT = Dataset.range(40).filter(lambda x: x % 3 > 0)


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 40])
@pytest.mark.parametrize("streams", [1, 2, 4, 5])
def test_rows_are_distributed_one_by_one(count, streams):
    dealt = [len(range(count)[number::streams]) for number in range(streams)]
    assert [share(count, number, streams) for number in range(streams)] == dealt
    rows = [StreamRows(Dataset.range(count)._plan, number, streams) for number in range(streams)]
    assert [each.length for each in rows] == dealt
    assert not any(each.indexed for each in rows)


@pytest.mark.parametrize("length", [INFINITE, UNKNOWN])
def test_a_share_of_an_unknown_length_is_unknown(length):
    assert share(length, 1, 4) == length


def test_a_shard_owns_every_nth_stream():
    plans = [VirtualStreams(KEPT._plan, 2, index, 6) for index in range(2)]
    assert [plan.turns.numbers for plan in plans] == [(0, 2, 4), (1, 3, 5)]
    assert [len(plan.turns.plans) for plan in plans] == [3, 3]
    assert [plan.label() for plan in plans] == ["shard(2, 0, streams=6)", "shard(2, 1, streams=6)"]
