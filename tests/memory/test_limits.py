from __future__ import annotations

import os
import resource

import pytest

from penstock.memory import limits


@pytest.mark.parametrize(("groups", "available"), [(None, 8 << 30), (2 << 30, 2 << 30), (0, 0), (9 << 30, 8 << 30)])
def test_the_less_of_machine_and_control_groups_is_available(groups, available, monkeypatch):
    monkeypatch.setattr(limits, "_available_kib", lambda: 8 << 20)
    monkeypatch.setattr(limits, "memory_left", lambda: groups)
    assert limits.available_memory() == available


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
    monkeypatch.setattr(limits, "MEMINFO", str(tmp_path / "meminfo"))
    assert limits._available_kib() == available


def test_the_limits_of_the_process_bound_what_is_mapped(monkeypatch):
    told = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda each: (told[each], 0))
    assert limits.most_mapped() == limits.UNLIMITED
    told[resource.RLIMIT_FSIZE] = 1 << 20
    assert limits.most_mapped() == 1 << 20
    told[resource.RLIMIT_AS] = 1 << 20
    assert limits.most_mapped() == 1 << 18


@pytest.fixture
def available(monkeypatch):
    """A function that sets the memory that is available."""
    limits._available_at.cache_clear()
    yield lambda nbytes: monkeypatch.setattr(limits, "available_memory", lambda: nbytes)
    limits._available_at.cache_clear()


def test_shares_of_the_available_memory_are_the_defaults(available):
    available(8 << 30)
    assert limits.default_memory_budget() == 2 << 30
    assert limits.default_cache_limit() == 4 << 30


def test_a_full_group_still_gives_a_budget(available):
    available(0)
    assert limits.default_memory_budget() == limits.default_cache_limit() == limits.LEAST_BUDGET


@pytest.mark.parametrize(("quota", "cores"), [(0.5, 0.5), (None, None), (1000.0, None)])
def test_a_quota_limits_the_cores(quota, cores, monkeypatch):
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    monkeypatch.setattr(limits, "cores_allowed", lambda: quota)
    assert limits.available_cores() == (bound if cores is None else cores)
