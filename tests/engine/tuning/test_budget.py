from __future__ import annotations

import os

import pytest

from penstock.engine.tuning import budget


@pytest.fixture
def cgroup(tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "CGROUP", tmp_path)
    monkeypatch.setattr(budget, "_available_kib", lambda: 8 << 20)
    budget._budget_at.cache_clear()
    yield tmp_path
    budget._budget_at.cache_clear()


def test_without_a_control_group_the_machine_is_the_limit(cgroup):
    assert budget.available_memory() == 8 << 30
    assert budget.default_memory_budget() == 2 << 30
    assert budget.available_cores() >= 1


def test_a_control_groups_memory_is_the_limit(cgroup):
    (cgroup / "memory.max").write_text(f"{3 << 30}\n")
    (cgroup / "memory.current").write_text(f"{1 << 30}\n")
    assert budget.available_memory() == 2 << 30


def test_a_group_without_a_limit_or_full_still_gives_a_budget(cgroup):
    (cgroup / "memory.current").write_text("5")
    (cgroup / "memory.max").write_text("max\n")
    assert budget.available_memory() == 8 << 30
    budget._budget_at.cache_clear()
    (cgroup / "memory.max").write_text("4")
    assert budget.available_memory() == 0
    assert budget.default_memory_budget() == budget.LEAST_BUDGET


def test_a_quota_limits_the_cores(cgroup):
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    (cgroup / "cpu.max").write_text("50000 100000\n")
    assert budget.available_cores() == 0.5
    (cgroup / "cpu.max").write_text("max 100000\n")
    assert budget.available_cores() == bound
    (cgroup / "cpu.max").write_text("nonsense")
    assert budget.available_cores() == bound


@pytest.mark.parametrize(
    ("told", "available"),
    [
        ("MemTotal:  100 kB\nMemAvailable:   12345678 kB\nBuffers: 1 kB\n", 12345678 << 10),
        ("MemTotal:  100 kB\n", 4 << 30),
        (None, 4 << 30),
    ],
)
def test_available_memory_is_read_from_the_system(told, available, tmp_path, monkeypatch):
    def text(path):
        if told is None or "meminfo" not in path:
            raise OSError(path)
        return told

    monkeypatch.setattr(budget, "_text", text)
    assert budget.available_memory() == available
