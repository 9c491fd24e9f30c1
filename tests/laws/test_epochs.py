"""A loop over epochs, stopped anywhere and resumed, yields what it would have, also where no seed was given."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.core.options import Options
from penstock.testing.alike import same
from penstock.testing.plans import datasets
from penstock.testing.streams import streams
from tests.draws import draws

EPOCHS = 3


def epochs_of(ds, most=10**9):
    """Return the elements of all epochs before number `EPOCHS`, at most this many, and the state after them."""
    seen = []
    for epoch in range(ds.epoch, EPOCHS):
        if len(seen) == most:
            break
        for element in ds:
            seen.append((epoch, element))
            if len(seen) == most:
                return seen, json.dumps(ds.state_dict())
    return seen, json.dumps(ds.state_dict())


def check(ds, stop):
    begin = ds.state_dict()
    whole, _ = epochs_of(ds)
    before, after = ds.with_options(Options()), ds.with_options(Options(executor="inline"))
    before.load_state_dict(begin)
    seen, state = epochs_of(before, stop)
    after.load_state_dict(json.loads(state))
    assert same([*seen, *epochs_of(after)[0]], whole)


@given(datasets(seeded=False), st.integers(0, 60))
@settings(max_examples=draws(40))
def test_epochs_of_an_indexed_dataset_resume_exactly(ds, stop):
    check(ds, stop)


@given(streams(seeded=False), st.integers(0, 60))
@settings(max_examples=draws(30))
def test_epochs_of_a_stream_resume_exactly(ds, stop):
    check(ds, stop)


@given(datasets(seeded=False))
@settings(max_examples=draws(30))
def test_rows_made_alone_are_those_of_the_pass(ds):
    for epoch in range(2):
        assert same([ds[epoch, row] for row in range(len(ds))], list(ds))


@given(datasets(seeded=False), st.integers(0, 24))
@settings(max_examples=draws(30))
def test_a_dataset_zipped_with_itself_pairs_each_element_with_itself(ds, cut):
    assert all(same(one, other) for one, other in ps.Dataset.zip(ds, ds))
    fixed = ds.shuffle(reshuffle_each_iteration=False)
    parts = [*fixed.take(cut), *fixed.skip(cut)]
    assert same(parts, list(fixed)) or ps.testing.laws.multiset(parts) != ps.testing.laws.multiset(fixed)
