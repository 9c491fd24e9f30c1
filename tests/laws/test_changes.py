"""Whatever is changed while a pass is under way, its elements are those of an undisturbed one."""

from __future__ import annotations

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.testing.laws import is_ordered, multiset, same
from penstock.testing.plans import datasets
from tests.draws import draws

MOST = 64  # elements
CHANGES = {
    "pause": lambda run: (run.session.pause(), run.session.resume()),
    "one worker": lambda run: run.session.change_workers(1),
    "three workers": lambda run: run.session.change_workers(3),
    "no memory": lambda run: run.session.change_budget(1),
    "much memory": lambda run: run.session.change_budget(1_000_000_000),
}


@given(
    datasets(),
    st.lists(st.sampled_from(sorted(CHANGES)), min_size=1, max_size=12),
    st.sampled_from([None, ps.Options(executor="threads"), ps.Options(executor="threads", workers=2)]),
)
@settings(max_examples=draws(60))
def test_changes_meanwhile_change_no_element(ds, changes, options):
    ds = ds if options is None else ds.with_options(options)
    expected = list(islice(ds.iterator(epoch=1), MOST))
    it = ds.iterator(epoch=1)
    received = []
    for number, each in enumerate(islice(it, MOST)):
        received.append(each)
        if it._run is not None:
            CHANGES[changes[number % len(changes)]](it._run)
    it.close()
    if is_ordered(ds):
        assert len(received) == len(expected)
        assert all(map(same, received, expected))
    else:
        assert len(expected) == MOST or multiset(received) == multiset(expected)
