from __future__ import annotations

import os

import pytest

from penstock.engine.tuning import budget


@pytest.fixture
def available(monkeypatch):
    """A function that sets the memory that is available."""
    budget._available_at.cache_clear()
    yield lambda nbytes: monkeypatch.setattr(budget, "available_memory", lambda: nbytes)
    budget._available_at.cache_clear()


def test_shares_of_the_available_memory_are_the_defaults(available):
    available(8 << 30)
    assert budget.default_memory_budget() == 2 << 30
    assert budget.default_cache_limit() == 4 << 30


def test_a_full_group_still_gives_a_budget(available):
    available(0)
    assert budget.default_memory_budget() == budget.default_cache_limit() == budget.LEAST_BUDGET


@pytest.mark.parametrize(("quota", "cores"), [(0.5, 0.5), (None, None), (1000.0, None)])
def test_a_quota_limits_the_cores(quota, cores, monkeypatch):
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.setattr(budget, "cores_allowed", lambda: quota)
    assert budget.available_cores() == (bound if cores is None else cores)
