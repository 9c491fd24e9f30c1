from __future__ import annotations

import resource

import pytest

from penstock.engine.memory import headroom

LIMITLESS = 9223372036854771712


class Machine:
    """A pretended machine with files of control groups."""

    def __init__(self, root):
        self.root = root
        self.proc, self.groups = root / "proc", root / "groups"
        (self.proc / "self").mkdir(parents=True)
        self.meminfo("MemAvailable: 8388608 kB\n")

    def meminfo(self, text):
        (self.proc / "meminfo").write_text(text)

    def group(self, path, **files):
        folder = self.groups / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (folder / name.replace("__", ".")).write_text(f"{content}\n")

    def of_version_2(self, path, root="/"):
        (self.proc / "self" / "cgroup").write_text(f"0::{path}\n")
        self.mounts(f"31 23 0:28 {root} {self.groups} rw - cgroup2 cgroup2 rw")

    def of_version_1(self, path, controller):
        (self.proc / "self" / "cgroup").write_text(f"4:{controller},other:{path}\n0::/\n")
        self.mounts(f"31 23 0:28 / {self.groups} rw - cgroup cgroup rw,{controller}")

    def mounts(self, line):
        (self.proc / "self" / "mountinfo").write_text(f"20 1 0:1 / / rw - ext4 /dev/root rw\n{line}\n")


@pytest.fixture
def machine(tmp_path, monkeypatch):
    made = Machine(tmp_path)
    monkeypatch.setattr(headroom, "PROC", str(made.proc))
    return made


def test_without_control_groups_the_machine_is_the_limit(machine):
    assert headroom.available_memory() == 8 << 30
    assert list(headroom.cores_of_groups()) == []


def test_the_least_of_nested_groups_is_the_limit(machine):
    machine.of_version_2("/a/b")
    machine.group(".", memory__max="max", memory__current=1)
    machine.group("a", memory__max=3 << 30, memory__current=1 << 30)
    machine.group("a/b", memory__max=4 << 30, memory__current=1 << 30)
    assert headroom.available_memory() == 2 << 30
    machine.group("a/b", memory__max=1 << 30, memory__current=(1 << 30) + 5)
    assert headroom.available_memory() == 0


def test_cached_files_count_as_available(machine):
    machine.of_version_2("/")
    machine.group(".", memory__max=3 << 30, memory__current=3 << 30, memory__stat=f"anon 5\ninactive_file {1 << 30}")
    assert headroom.available_memory() == 1 << 30


def test_groups_of_version_1_count(machine):
    machine.of_version_1("/job", "memory")
    machine.group(".", memory__limit_in_bytes=LIMITLESS, memory__usage_in_bytes=5)
    machine.group("job", memory__limit_in_bytes=2 << 30, memory__usage_in_bytes=1 << 30)
    assert headroom.available_memory() == 1 << 30


def test_a_namespace_that_hides_the_path_of_the_group_shows_its_root(machine):
    machine.of_version_2("/../../elsewhere", root="/")
    machine.group(".", memory__max=2 << 30, memory__current=0)
    assert headroom.available_memory() == 2 << 30


def test_quotas_of_both_versions_limit_the_cores(machine):
    machine.of_version_2("/a")
    machine.group(".", cpu__max="max 100000")
    machine.group("a", cpu__max="50000 100000")
    assert list(headroom.cores_of_groups()) == [0.5]
    machine.group("a", cpu__max="nonsense")
    assert list(headroom.cores_of_groups()) == []
    machine.of_version_1("/a", "cpu")
    machine.group("a", cpu__cfs_quota_us=150_000, cpu__cfs_period_us=100_000)
    machine.group(".", cpu__cfs_quota_us=-1, cpu__cfs_period_us=100_000)
    assert list(headroom.cores_of_groups()) == [1.5]


@pytest.mark.parametrize(
    ("name", "content"), [("memory.events", "low 0\noom_kill 3"), ("memory.oom_control", "oom_kill 3")]
)
def test_processes_ended_for_lack_of_memory_are_counted(name, content, machine):
    machine.of_version_2("/a")
    machine.group("a", **{name.replace(".", "__"): content})
    assert headroom.oom_kills() == 3


@pytest.mark.parametrize(
    ("told", "available"), [("MemAvailable:   12345678 kB\n", 12345678 << 10), ("MemTotal:  100 kB\n", 4 << 30)]
)
def test_available_memory_is_read_from_the_system(told, available, machine):
    machine.meminfo(told)
    assert headroom.available_memory() == available


def test_the_limits_of_the_process_bound_what_is_mapped(monkeypatch):
    limits = {resource.RLIMIT_AS: resource.RLIM_INFINITY, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda each: (limits[each], 0))
    assert headroom.most_mapped() == headroom.UNLIMITED
    limits[resource.RLIMIT_FSIZE] = 1 << 20
    assert headroom.most_mapped() == 1 << 20
    limits[resource.RLIMIT_AS] = 1 << 20
    assert headroom.most_mapped() == 1 << 18
