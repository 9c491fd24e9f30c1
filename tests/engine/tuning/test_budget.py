from __future__ import annotations

import os

import pytest

from penstock.engine.tuning import budget


@pytest.fixture
def groups(monkeypatch):
    """Set what the control groups allow, on a machine with 8 GiB available."""

    def set_to(memory=None, cores=None):
        budget._available_at.cache_clear()
        monkeypatch.setattr(budget, "memory_left", lambda: memory)
        monkeypatch.setattr(budget, "cores_allowed", lambda: cores)

    monkeypatch.setattr(budget, "_available_kib", lambda: 8 << 20)
    yield set_to
    budget._available_at.cache_clear()


def test_without_a_control_group_the_machine_is_the_limit(groups):
    groups()
    assert budget.available_memory() == 8 << 30
    assert budget.default_memory_budget() == 2 << 30
    assert budget.default_cache_limit() == 4 << 30
    assert budget.available_cores() >= 1


def test_a_control_groups_memory_is_the_limit(groups):
    groups(memory=2 << 30)
    assert budget.available_memory() == 2 << 30
    assert budget.default_memory_budget() == 1 << 29


def test_a_full_group_still_gives_a_budget(groups):
    groups(memory=0)
    assert budget.available_memory() == 0
    assert budget.default_memory_budget() == budget.default_cache_limit() == budget.LEAST_BUDGET


def test_a_quota_limits_the_cores(groups):
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for quota, cores in ((0.5, 0.5), (None, bound), (1000.0, bound)):
        groups(cores=quota)
        assert budget.available_cores() == cores


@pytest.mark.parametrize(
    ("told", "available"),
    [
        ("MemTotal:  100 kB\nMemAvailable:   12345678 kB\nBuffers: 1 kB\n", 12345678),
        ("MemTotal:  100 kB\n", 4 << 20),
        (None, 4 << 20),
    ],
)
def test_available_memory_is_read_from_the_system(told, available, tmp_path, monkeypatch):
    if told is not None:
        (tmp_path / "meminfo").write_text(told)
    monkeypatch.setattr(budget, "MEMINFO", str(tmp_path / "meminfo"))
    assert budget._available_kib() == available
