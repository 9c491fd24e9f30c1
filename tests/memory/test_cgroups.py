"""Limits of nested control groups, read from trees of files like those of the kernel."""

from __future__ import annotations

import pytest

from penstock.memory.cgroups import cores_allowed, memory_left, oom_kills

GIB = 1 << 30
V2 = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"
V1 = (
    "31 23 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
)


@pytest.fixture
def machine(tmp_path):
    """Write the files of a machine: its mounts, the groups of the process, and files by path."""

    def written(mounts, cgroup, files):
        for path, text in {"proc/self/mountinfo": mounts, "proc/self/cgroup": cgroup, **files}.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{text}")
        return str(tmp_path)

    return written


def group(path, limit, used, stat="inactive_file 0\n", **others):
    names = {"memory.max": limit, "memory.current": used, "memory.stat": stat, **others}
    return {f"sys/fs/cgroup{path}/{name}": text for name, text in names.items()}


def test_the_tightest_of_nested_groups_is_the_limit(machine):
    files = group("", "max", 9 * GIB) | group("/job", 4 * GIB, 3 * GIB) | group("/job/task", 2 * GIB, GIB // 2)
    assert memory_left(machine(V2, "0::/job/task\n", files)) == GIB


def test_pages_of_files_that_nobody_uses_do_not_count_as_taken(machine):
    files = group("/job", 4 * GIB, 4 * GIB, f"anon 5\ninactive_file {3 * GIB}\n")
    assert memory_left(machine(V2, "0::/job\n", files)) == 3 * GIB


def test_the_limit_above_which_a_group_is_slowed_counts(machine):
    files = group("/job", "max", GIB) | {"sys/fs/cgroup/job/memory.high": f"{2 * GIB}"}
    assert memory_left(machine(V2, "0::/job\n", files)) == GIB


def test_groups_of_version_1_have_their_own_files(machine):
    folder = "sys/fs/cgroup/memory/job"
    files = {
        f"{folder}/memory.limit_in_bytes": 2 * GIB,
        f"{folder}/memory.usage_in_bytes": GIB,
        f"{folder}/memory.stat": f"inactive_file 1\ntotal_inactive_file {GIB // 2}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": 9223372036854771712,
        "sys/fs/cgroup/memory/memory.usage_in_bytes": GIB,
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": 150_000,
        "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": 100_000,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": -1,
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": 100_000,
    }
    root = machine(V1, "4:memory:/job\n3:cpu,cpuacct:/job\n0::/\n", files)
    assert memory_left(root) == GIB + GIB // 2
    assert cores_allowed(root) == 1.5


def test_a_namespace_that_hides_the_path_of_the_group_shows_its_root(machine):
    assert memory_left(machine(V2, "0::/../../elsewhere\n", group("", 2 * GIB, 0))) == 2 * GIB


def test_a_container_sees_its_group_as_the_root_of_the_mounted_tree(machine):
    mounts = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n"
    assert memory_left(machine(mounts, "0::/docker/abc\n", group("", 2 * GIB, GIB))) == GIB
    assert memory_left(machine(mounts, "0::/\n", group("", 2 * GIB, GIB))) == GIB


def test_a_quota_of_any_group_limits_the_cores(machine):
    files = {"sys/fs/cgroup/job/cpu.max": "max 100000\n", "sys/fs/cgroup/job/a/cpu.max": "50000 100000\n"}
    assert cores_allowed(machine(V2, "0::/job/a\n", files)) == 0.5


@pytest.mark.parametrize("cgroup", ["0::/elsewhere/deep\n", "nonsense\n", ""])
def test_without_limits_or_with_nonsense_there_is_none(machine, cgroup):
    root = machine(V2 + "broken line\n", cgroup, group("", "max", "nonsense") | {"sys/fs/cgroup/cpu.max": "x"})
    assert memory_left(root) is None
    assert cores_allowed(root) is None


def test_without_the_files_there_is_no_limit(tmp_path):
    assert memory_left(str(tmp_path)) is cores_allowed(str(tmp_path)) is None


def test_a_full_group_leaves_nothing(machine):
    assert memory_left(machine(V2, "0::/\n", group("", GIB, 2 * GIB))) == 0


@pytest.mark.parametrize(
    ("mounts", "cgroup", "name"),
    [(V2, "0::/job\n", "job/memory.events"), (V1, "4:memory:/job\n", "memory/job/memory.oom_control")],
)
def test_processes_ended_for_lack_of_memory_are_counted(mounts, cgroup, name, machine):
    files = {f"sys/fs/cgroup/{name}": "low 0\noom_kill 3\n"}
    assert oom_kills(machine(mounts, cgroup, files)) == 3
    assert oom_kills(machine(mounts, cgroup, {f"sys/fs/cgroup/{name}": "nonsense"})) == 0
