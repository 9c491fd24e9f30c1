"""Blocks that are lent to other processes."""

import gc

import numpy as np
import pytest

from penstock.transport.loans import WHOLE_PIECE, Lending
from penstock.transport.packets import opened_loan


@pytest.fixture
def lending():
    made = Lending()
    made.make_arena(1 << 23)
    return made


def opened(lending, made, at, tail):
    block = bytearray().join(tail)
    return opened_loan(made.packet, at, block, lambda places: [lending.arena.part(*place) for place in places])


def test_arrays_of_the_arena_are_lent_in_place_and_others_in_a_block(lending):
    inside, outside = lending.arena.allocate((4000,), np.dtype("i4")), np.arange(9000)
    inside[:] = 7
    made, at, tail = lending.lend(1, 0, {"in": inside, "out": outside, "small": 3})
    assert at is not None
    assert tail == []
    value = opened(lending, made, at, tail)
    assert np.may_share_memory(value["in"], inside)
    assert value["out"].tolist() == outside.tolist()
    live = lending.arena.live_bytes
    del inside, value
    gc.collect()
    assert lending.arena.live_bytes == live
    lending.take_back([(1, 0, 0)])
    assert lending.arena.live_bytes < live
    lending.take_back([(1, 0, 1)])
    assert lending.arena.live_bytes == 0


def test_small_objects_and_those_without_room_come_by_themselves(lending):
    for value in (np.arange(900), np.arange(1 << 21)):
        made, at, tail = lending.lend(1, 0, value)
        assert at is None
        assert opened(lending, made, at, tail).tolist() == value.tolist()
    assert lending.arena.live_bytes == 0


def test_everything_lent_to_one_returns_together(lending):
    for run, piece in ((1, 0), (1, 1), (2, 0)):
        lending.lend(run, piece, np.arange(5000))
    one = lending.arena.live_bytes // 3
    lending.take_back_all(1)
    lending.take_back([(1, 0, WHOLE_PIECE)])  # told late
    assert lending.arena.live_bytes == one
    lending.take_back_all(2)
    assert lending.arena.live_bytes == 0
