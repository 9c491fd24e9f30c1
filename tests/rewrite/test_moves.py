"""Operations that only move elements can be detached from one plan and attached to another."""

from __future__ import annotations

from penstock import Dataset
from penstock.plan.graph import end_of
from penstock.rewrite.moves import MOVES, put_on

DS = Dataset.range(20).map(abs)


def moved(ds):
    return ds.shuffle(seed=1).take(9).skip(1).repeat(2).shard(2, 0).exclude([1])[::2]


def test_only_moves_are_removed():
    moves, below = end_of(moved(DS)._plan, MOVES)
    assert [move.name for move in moves] == ["slice", "exclude", "shard", "repeat", "skip", "take", "shuffle"]
    assert below is DS._plan
    assert end_of(DS._plan, MOVES) == ([], DS._plan)


def test_moves_are_applied_to_another_node():
    other = Dataset.range(100, 120)
    moves, _ = end_of(moved(DS)._plan, MOVES)
    assert put_on(other._plan, moves) == moved(other)._plan
    assert put_on(DS._plan, moves) == moved(DS)._plan
    assert put_on(DS._plan, []) is DS._plan
