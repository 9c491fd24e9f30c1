"""Whole programs with worker processes: how they may begin, and that nothing is left however they end."""

from __future__ import annotations

import os
import re
import resource
import signal

import pytest

from tests.engine.workers.processes.programs import SETUP, await_end, begin, is_alive, run

RUNS = """
table = np.arange(100)
class Local:
    def __init__(self, x):
        self.x = x
def doubled(x):
    return 2 * int(table[x])
pool = warm()
ds = ps.Dataset.range(100).map(doubled).with_options(OPTIONS)
print(list(ds) == [2 * x for x in range(100)])
print(all(isinstance(each, Local) for each in ps.Dataset.range(9).map(lambda x: Local(int(x))).with_options(OPTIONS)))
"""


@pytest.mark.parametrize("way", ["-c", "-", "script"])
def test_functions_of_a_script_need_no_guard(way, tmp_path):
    """With `python -c`, standard input, and a file without a guard, which the worker must not run again."""
    if way == "script":
        (tmp_path / "script.py").write_text(SETUP + RUNS)
        done = run("", by=str(tmp_path / "script.py"))
    else:
        done = run(RUNS, by=way)
    assert done.stdout.split() == ["True", "True"], done.stderr
    assert done.returncode == 0
    assert done.stderr == ""


ENDS = """
pool = warm()
def slow(x):
    for _ in range(3 if x < 20 else 10**12):
        sum(range(10**4))
    return np.full(1000, x)
it = ps.Dataset.range(300).map(slow).batch(2).with_options(OPTIONS).iterator()
next(it)
print(*[member.pid for member in pool.crew._members], flush=True)
"""


@pytest.mark.parametrize(
    "end", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.kill(os.getpid(), 15)", "raise SystemExit"]
)
def test_no_worker_outlives_its_parent(end, tmp_path):
    process = begin(ENDS + end, env={**os.environ, "TMPDIR": str(tmp_path)})
    pids = [int(pid) for pid in process.stdout.readline().split()]
    assert len(pids) == 2
    process.wait(60)
    assert all(map(await_end, pids))
    assert not any(map(is_alive, pids))
    assert list(tmp_path.iterdir()) == []
    process.stdout.close()
    process.stderr.close()


def test_ctrl_c_ends_the_parent_and_its_workers_without_their_tracebacks():
    process = begin(ENDS + "list(it)", start_new_session=True)
    pids = [int(pid) for pid in process.stdout.readline().split()]
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert all(map(await_end, pids))
    assert err.count("Traceback") == 1, err
    assert err.rstrip().endswith("KeyboardInterrupt")
    assert "[worker" not in out + err


def test_a_run_continues_after_an_interrupt():
    program = """
pool = warm()
before = set(pool.crew.pids)
ds = ps.Dataset.range(5000).map(lambda x: x + sum(range(100))).map(lambda x: x - sum(range(100))).with_options(OPTIONS)
it = ds.iterator()
got = []
try:
    for x in it:
        got.append(int(x))
        if len(got) == 60: os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    pass
again = ds.iterator()
again.load_state_dict(it.state_dict())
print(got == list(range(len(got))), int(next(again)) == len(got), before <= set(pool.crew.pids))
"""
    done = run(program)
    assert done.stdout.split() == ["True", "True", "True"], done.stderr


def test_a_forked_child_begins_workers_of_its_own():
    program = """
pool = warm()
before = set(pool.crew.pids)
ds = ps.Dataset.range(2000).map(lambda x: (x, os.getppid())).batch(4).with_options(OPTIONS)
it = iter(ds)
first = next(it)
child = os.fork()
rest = [int(x) for batch in it for x in batch[0]]
if not child:
    print(rest == list(range(4, 2000)), flush=True)
    sys.exit(0)
os.waitpid(child, 0)
print(rest == list(range(4, 2000)), before <= set(pool.crew.pids), flush=True)
"""
    done = run(program)
    assert done.stdout.split() == ["True", "True", "True"], done.stderr
    assert done.stderr == ""


def test_a_forked_child_goes_on_though_a_pool_has_ended_before():
    program = """
import threading
pool = warm()
pool.close()
for thread in threading.enumerate():
    if thread.name == "penstock-crew":
        thread.join()
ds = ps.Dataset.range(2000).map(lambda x: x).batch(4).with_options(ps.Options(executor="threads", workers=2))
it = iter(ds)
next(it)
child = os.fork()
print([int(x) for batch in it for x in batch] == list(range(4, 2000)), flush=True)
if child:
    os.waitpid(child, 0)
"""
    done = run(program)
    assert done.stdout.split() == ["True", "True"], done.stderr
    assert done.stderr == ""


LIMITED = """
import resource
ds = ps.Dataset.range(400).map(lambda x: np.full(5000, x)).batch(8)
options = ps.Options(executor="processes", workers=2)
it = ds.with_options(options).iterator()
print([int(x) for batch in it for x in batch[:, -1]] == list(range(400)), it.stats().mode)
"""


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (resource.RLIMIT_FSIZE, 1 << 16),
        (resource.RLIMIT_AS, 3 << 30),
        (resource.RLIMIT_NOFILE, 64),
        (resource.RLIMIT_NOFILE, 16),
    ],
)
def test_limits_of_the_process_change_no_element(limit, value, monkeypatch):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # Python keeps files cut off at the limit, for all to read
    done = run(f"import resource; resource.setrlimit({limit}, ({value}, resource.getrlimit({limit})[1]))\n" + LIMITED)
    assert done.returncode == 0, done.stderr
    assert re.match(r"True 2 (processes|threads)", done.stdout), done.stderr


def test_hundreds_of_abandoned_iterators_leave_nothing():
    program = """
import gc, threading
pool = warm()
ds = ps.Dataset.range(100).map(lambda x: np.full(2000, x)).batch(2).with_options(OPTIONS)
def left():
    gc.collect()
    return len(os.listdir("/proc/self/fd")), threading.active_count(), len(pool.crew._members)
next(iter(ds))
before = left()
for _ in range(300):
    next(iter(ds))
list(ds)  # after every task of those
print(left() == before, pool.arena.live_bytes)
"""
    done = run(program)
    assert done.stdout.split() == ["True", "0"], done.stdout + done.stderr
