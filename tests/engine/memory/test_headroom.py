from __future__ import annotations

import resource

import pytest

from penstock.engine.memory import headroom


@pytest.mark.parametrize(("groups", "available"), [(None, 8 << 30), (2 << 30, 2 << 30), (0, 0), (9 << 30, 8 << 30)])
def test_the_less_of_machine_and_control_groups_is_available(groups, available, monkeypatch):
    monkeypatch.setattr(headroom, "_available_kib", lambda: 8 << 20)
    monkeypatch.setattr(headroom, "memory_left", lambda: groups)
    assert headroom.available_memory() == available


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
    monkeypatch.setattr(headroom, "MEMINFO", str(tmp_path / "meminfo"))
    assert headroom._available_kib() == available


def test_the_limits_of_the_process_bound_what_is_mapped(monkeypatch):
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda each: (limits[each], 0))
    assert headroom.most_mapped() == headroom.UNLIMITED
    limits[resource.RLIMIT_FSIZE] = 1 << 20
    assert headroom.most_mapped() == 1 << 20
    limits[resource.RLIMIT_AS] = 1 << 20
    assert headroom.most_mapped() == 1 << 18
