"""Spans of deliveries, and their sums."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset.ranks.ledger import merged_ledgers, without

EMPTY = {"version": 1, "plan": "a", "seed": 0, "spans": [], "ends": []}
SPANS = st.tuples(st.integers(0, 2), st.integers(0, 5), st.integers(6, 9), st.integers(0, 1), st.just(2)).map(list)


def merged(*spans):
    return merged_ledgers([{**EMPTY, "spans": [span]} for span in spans])["spans"]


@given(st.lists(SPANS, min_size=1, max_size=6), st.randoms(use_true_random=False), st.data())
def test_the_order_and_the_grouping_of_ledgers_do_not_matter(spans, random, data):
    ledgers = [{**EMPTY, "spans": [span]} for span in spans]
    shuffled = ledgers.copy()
    random.shuffle(shuffled)
    assert merged_ledgers(ledgers) == merged_ledgers(shuffled)


def test_spans_of_all_ranks_become_one():
    assert merged([0, 0, 3, 0, 2], [0, 0, 3, 1, 2], [0, 3, 5, 0, 1]) == [[0, 0, 5, 0, 1]]
    assert merged([0, 0, 3, 0, 2], [0, 0, 3, 0, 2]) == [[0, 0, 3, 0, 2], [0, 0, 3, 0, 2]]


def test_ends_that_all_ranks_have_seen_become_one():
    seen = [{**EMPTY, "ends": [[0, steps, rank, 3]]} for rank, steps in enumerate((4, 4, 3))]
    assert merged_ledgers(seen)["ends"] == [[0, 3, 2, 3], [0, 4, 0, 3], [0, 4, 1, 3]]
    assert merged_ledgers([*seen[:2], {**EMPTY, "ends": [[0, 4, 2, 3]]}])["ends"] == [[0, 4, 0, 1]]


def test_steps_without_others():
    assert without([(0, 4), (6, 8)], [(1, 2), (3, 7)]) == [(0, 1), (2, 3), (7, 8)]
    assert without([(0, 4)], [(0, 4)]) == []


def test_the_ledger_of_a_restored_iterator_begins_at_its_state():
    ds = ps.Dataset.range(10).batch(2)
    it = iter(ds)
    next(it), next(it)
    again = iter(ds)
    again.load_state_dict(it.state_dict())
    list(again)
    ledger = json.loads(json.dumps(again.ledger()))
    assert ledger["spans"] == [[0, 2, 5, 0, 1]]
    assert ledger["ends"] == [[0, 5, 0, 1]]
    assert it.ledger()["spans"] == [[0, 0, 2, 0, 1]]
    assert iter(ds).ledger()["spans"] == []


def test_batches_that_come_as_they_are_finished():
    ds = ps.Dataset.range(40).map(lambda x: x).batch(2).with_options(ps.Options(deterministic=False))
    it = iter(ds)
    state = {**it.state_dict(), "row": 2, "ahead": [[4, 6]]}
    it.load_state_dict(state)
    list(it)
    assert it.ledger()["spans"] == [[0, 2, 4, 0, 1], [0, 6, 20, 0, 1]]
