"""What an isolated run tells its consumer is sent by any version of Python."""

from __future__ import annotations

import io
import pickle

import pytest

import penstock as ps
from penstock.isolation.facts import Reporter


class Careful(pickle.Pickler):
    def reducer_override(self, value):
        assert type(value).__module__ != "itertools"  # which Python 3.14 does not pickle
        return NotImplemented


@pytest.mark.parametrize("executor", ["inline", "threads"])
def test_the_facts_of_a_run_hold_no_iterators(executor):
    ds = ps.Dataset.range(64).map(lambda x: x + 1, vectorized=False).batch(8)
    it = iter(ds.with_options(ps.Options(executor=executor)))
    assert len(list(it)) == 8
    facts = Reporter(it._run, it._counters, it._run._carry_over.memory).told()
    Careful(io.BytesIO(), protocol=5).dump(facts)
