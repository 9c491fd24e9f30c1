"""A run that moves from threads to processes while it is under way yields what a run inline yields."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import penstock as ps
from penstock.testing.laws import multiset, verify_determinism, verify_resume
from penstock.testing.plans import datasets
from tests.draws import draws

pytestmark = pytest.mark.usefixtures("moves")
MOVES = [("moved to processes", ps.Options())]


@given(datasets())
@settings(max_examples=draws(30))
def test_a_move_equals_inline(ds):
    verify_determinism(ds, ways=MOVES)


@given(datasets())
@settings(max_examples=draws(20))
def test_later_epochs_equal_inline(ds):
    verify_determinism(ds, epoch=4, ways=MOVES)


@given(datasets())
@settings(max_examples=draws(20))
def test_a_restore_before_or_after_a_move_continues_exactly(ds):
    verify_resume(ds, options=ps.Options(), most=12)


@given(datasets())
@settings(max_examples=draws(20))
def test_without_order_the_same_elements_come(ds):
    loose = ds.with_options(ps.Options(deterministic=False))
    assert multiset(loose.iterator(epoch=1)) == multiset(
        ds.with_options(ps.Options(executor="inline")).iterator(epoch=1)
    )
