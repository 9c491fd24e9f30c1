from __future__ import annotations

import pytest

from penstock.engine.tasks.observer import Unobserved


def test_unobserved_functions_are_unchanged():
    observer, work = Unobserved(), object()
    for wrap in (observer.wrap, observer.wrap_step, observer.wrap_spread, observer.wrap_flow):
        assert wrap(None, work) is work
    assert observer.wrap_stage(work) is work


@pytest.mark.parametrize("count", [0, 1, 3])
def test_unobserved_plans_are_yielded_count_times(count):
    assert len(list(Unobserved().alike(count))) == count


def test_unobserved_work_counts_nothing():
    observer = Unobserved()
    observer.count(None, 1, 8, 10, 10)
    observer.absorb(None)
    assert observer.drain() is None
    assert observer.part() is observer
