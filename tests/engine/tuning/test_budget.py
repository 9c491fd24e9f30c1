from __future__ import annotations

import os

import pytest

from penstock.engine.tuning import budget


@pytest.fixture
def available(monkeypatch):
    """A function that sets the memory that is available."""
    budget._budget_at.cache_clear()
    yield lambda nbytes: monkeypatch.setattr(budget, "available_memory", lambda: nbytes)
    budget._budget_at.cache_clear()


def test_a_quarter_of_the_available_memory_is_the_default_budget(available):
    available(8 << 30)
    assert budget.default_memory_budget() == 2 << 30


def test_a_full_group_still_gives_a_budget(available):
    available(0)
    assert budget.default_memory_budget() == budget.LEAST_BUDGET


@pytest.mark.parametrize(("quotas", "cores"), [([0.5], 0.5), ([], None), ([1e6, 0.25], 0.25)])
def test_a_quota_limits_the_cores(quotas, cores, monkeypatch):
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.setattr(budget, "cores_of_groups", lambda: iter(quotas))
    assert budget.available_cores() == (bound if cores is None else cores)
