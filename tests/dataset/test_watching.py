"""The calls of an iterator that watch its run; what they write is tested beside the viewers."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock import Dataset


def test_stats_and_the_verdict_are_those_of_the_pass():
    it = Dataset.range(6).batch(2).iterator()
    assert len(list(it)) == 3
    assert (it.stats().items, it.stats().rows) == (3, 6)
    assert it.verdict().startswith("Too early to say")


def test_calls_that_watch_from_the_beginning_refuse_a_pass_under_way(tmp_path):
    it = Dataset.range(6).iterator()
    next(it)
    with pytest.raises(ps.errors.PlanError, match=r"trace\(\): the pass has begun"):
        it.trace(tmp_path / "run.json")
    assert list(tmp_path.iterdir()) == []
