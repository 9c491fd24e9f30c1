"""An isolated run yields what a run in this process yields, and its states are the same."""

from __future__ import annotations

import json
from itertools import islice

import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.testing.laws import is_ordered, multiset, same, verify_determinism, verify_resume
from penstock.testing.plans import datasets
from tests.draws import draws

pytestmark = pytest.mark.usefixtures("isolation")

ISOLATED = ps.Options(isolate=True)
WAYS = [
    ("isolated", ISOLATED),
    ("isolated, inline", ps.Options(isolate=True, executor="inline")),
    ("isolated, on 2 threads", ps.Options(isolate=True, executor="threads", workers=2)),
]


@given(datasets())
@settings(max_examples=draws(30))
def test_isolated_runs_equal_others(ds):
    verify_determinism(ds, ways=WAYS)


@given(datasets())
@settings(max_examples=draws(20))
def test_later_epochs_equal_others(ds):
    verify_determinism(ds, epoch=4, ways=WAYS[:1])


@given(datasets())
@settings(max_examples=draws(20))
def test_without_order_the_same_elements_come(ds):
    loose = ds.with_options(ps.Options(isolate=True, executor="threads", workers=2, deterministic=False))
    assert multiset(loose.iterator(epoch=1)) == multiset(ds.iterator(epoch=1))


@given(datasets())
@settings(max_examples=draws(15))
def test_restored_equals_uninterrupted(ds):
    verify_resume(ds, most=8, options=ISOLATED)


@given(datasets())
@settings(max_examples=draws(20))
def test_states_are_interchangeable(ds):
    """After each element, the state with and without isolation is the same."""
    bound = ds.with_options(ps.Options(seed=7))
    if not is_ordered(bound):
        return
    with bound.iterator(epoch=0) as here, bound.with_options(ISOLATED).iterator(epoch=0) as there:
        for one, other in zip(islice(here, 8), there, strict=False):
            assert same(one, other)
            assert json.dumps(here.state_dict()) == json.dumps(there.state_dict())
