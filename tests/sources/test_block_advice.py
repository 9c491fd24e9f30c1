"""Blocks are announced before they are decoded: each once, within the limit, and only for files on a disk."""

from __future__ import annotations

import penstock as ps
from penstock.sources import block_advice
from penstock.sources.block_advice import ADVISED_BYTES, BlockAdvice


def test_following_blocks_are_announced_up_to_a_number_of_bytes(monkeypatch):
    told, disk = [], iter(range(1000))
    monkeypatch.setattr(block_advice, "advise_extents", lambda extents: told.extend(path for path, _, _ in extents))
    monkeypatch.setattr(block_advice, "process_reads", lambda: next(disk))
    advice = BlockAdvice(lambda block: [(block, 0, ADVISED_BYTES // 4)])
    decoded = advice.ahead([9, 7, 5, 3, 1, 2])
    assert told == [9, 7, 5, 3]
    decoded(9)
    assert told == [9, 7, 5, 3, 1]
    advice.decoding(3)
    assert told == [9, 7, 5, 3, 1]  # it was told of
    advice.decoding(4)
    assert told == [9, 7, 5, 3, 1, 4]
    monkeypatch.setattr(block_advice, "process_reads", lambda: 1000)
    advice.decoding(6)
    advice.decoding(8)  # nothing was read since: all is in memory
    advice.ahead([10, 11])
    assert told[-1] == 6


def test_errors_of_a_block_are_raised_when_it_is_decoded():
    def extents(block):
        raise ps.errors.DataError("its footer is gone")

    assert BlockAdvice(extents).tell([1, 2]) == 0
