"""The lines that wrote the operations of a plan."""

from __future__ import annotations

import pickle

import cloudpickle

from penstock import Dataset
from penstock.plan.graph import post_order
from penstock.plan.places import place_noted


def line_of(ds, name):
    plan = ds._plan
    node = next(node for node in post_order(plan) if node.name.startswith(name))
    found = place_noted(plan, node)
    return None if found is None else found.line


def test_each_operation_has_its_line_and_a_source_that_of_the_next_operation():
    first = line_of(Dataset.range(3).skip(1), "skip")
    base = Dataset.range(3)
    ds = base.skip(1)
    ds = ds.batch(2)
    assert [line_of(ds, name) - first for name in ("range", "skip", "batch")] == [2, 2, 3]
    assert line_of(base, "range") is None


def test_an_operation_of_another_branch_is_not_mistaken():
    left = Dataset.range(3)
    right = Dataset.range(4).map(abs)
    both = Dataset.zip(left, right).batch(2)
    assert line_of(both, "range(3)") == line_of(both, "zip") == line_of(right, "map") + 1


def test_places_stay_in_this_process():
    ds = Dataset.range(3).skip(1)
    for pickled in (pickle.dumps(ds._plan), cloudpickle.dumps(ds)):
        assert b"written_at" not in pickled
    assert line_of(pickle.loads(pickle.dumps(ds)), "skip") is None
