from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

import penstock as ps
from penstock.engine.workers.processes import starting
from penstock.engine.workers.processes.starting import PoolSetup, environment, obstacle
from penstock.transport.process_settings import THREAD_VARIABLES
from tests.engine.workers.processes.programs import PATIENCE, SETUP, run


def test_native_libraries_get_one_thread_unless_the_user_says_otherwise():
    made = environment(PoolSetup(2), {"MKL_NUM_THREADS": "7", "HOME": "here"})
    assert made["MKL_NUM_THREADS"] == "7"
    assert made["HOME"] == "here"
    assert {made[name] for name in THREAD_VARIABLES if name != "MKL_NUM_THREADS"} == {"1"}
    assert environment(PoolSetup(2, native_threads=3), {})["OMP_NUM_THREADS"] == "3"


@pytest.mark.parametrize(
    ("ours", "theirs"), [({}, "0"), ({"PYTHONHASHSEED": "random"}, "0"), ({"PYTHONHASHSEED": "5"}, "5")]
)
def test_hashes_are_the_same_in_all_workers(ours, theirs):
    assert environment(PoolSetup(2), ours)["PYTHONHASHSEED"] == theirs


def test_an_interpreter_that_cannot_be_started_again_is_named(monkeypatch):
    assert obstacle() is None
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "frozen" in obstacle()
    monkeypatch.setattr(sys, "executable", "")
    assert "sys.executable" in obstacle()


def test_without_an_interpreter_threads_make_the_same_elements(monkeypatch, caplog):
    monkeypatch.setattr(starting.sys, "executable", "")
    ds = ps.Dataset.range(100).map(lambda x: x + 1).batch(8)
    it = ds.with_options(ps.Options(executor="processes", workers=2)).iterator()
    assert [batch.tolist() for batch in it] == [batch.tolist() for batch in ds]
    assert it.stats().mode == "2 threads"
    assert "threads make the same elements" in it.stats().events[0].words
    assert "sys.executable" in caplog.text


def test_a_system_without_room_for_processes_gets_threads(monkeypatch):
    def refuse(*_, **__):
        raise OSError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(starting.subprocess, "Popen", refuse)
    ds = ps.Dataset.range(1 << 40).map(lambda x: x + 1).batch(8)
    it = ds.with_options(ps.Options(executor="processes", workers=3)).iterator()
    for number, batch in enumerate(it):
        assert batch.tolist() == list(range(8 * number + 1, 8 * number + 9))
        if it.stats().mode.endswith("threads"):
            break
    assert next(it).tolist()[0] == 8 * number + 9
    assert it.stats().mode.endswith("threads")
    assert "Resource temporarily unavailable" in it.stats().events[0].words


SEES = """
def seen(x):
    return {"flags": str(sys.flags.bytes_warning), "cwd": os.getcwd(), "path": str(sys.path[0]),
            "argv": str(sys.argv[-1]),
            "hash": hash("text"), "main": str("warm" in vars(sys.modules["__main__"])),
            "omp": os.environ["OMP_NUM_THREADS"],
            "stdin": os.readlink("/proc/self/fd/0"), "ignores": str(signal.getsignal(signal.SIGINT) == signal.SIG_IGN),
            "score": int(open("/proc/self/oom_score_adj").read())}

pool = warm()
sys.path.insert(0, "/first")
ds = ps.Dataset.range(64).map(seen).with_options(OPTIONS)
made = list(ds)
print({name: sorted({each[name] for each in made}, key=str) for name in made[0]})
"""


def test_a_worker_has_the_flags_and_folder_of_its_parent_and_runs_nothing_of_its_script(tmp_path):
    done = run(SEES, "-b", cwd=tmp_path, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.returncode == 0, done.stderr
    seen = eval(done.stdout)
    assert seen["flags"] == ["1"]
    assert seen["cwd"] == [str(tmp_path)]
    assert seen["stdin"] == ["/dev/null"]
    assert seen["ignores"] == ["True"]
    assert seen["main"] == ["False"]
    assert seen["omp"] == ["1"]
    assert len(seen["hash"]) == 1
    assert min(seen["score"]) >= 500


WITHOUT_STREAMS = """
for descriptor in map(int, sys.argv[2:]):
    os.close(descriptor)
ds = ps.Dataset.counter().map(lambda x: (int(x), os.getpid()), vectorized=False).batch(4)
for numbers, pids in ds.with_options(OPTIONS):
    if os.getpid() not in pids:
        break
with open(sys.argv[1], "w") as file:
    file.write(str(numbers[0] % 4))
"""


@pytest.mark.parametrize("closed", ["0", "1", "2", "012"])
def test_a_program_without_standard_streams_starts_workers(closed, tmp_path):
    path, out = tmp_path / "program.py", tmp_path / "out"
    path.write_text(SETUP + WITHOUT_STREAMS)
    done = subprocess.run([sys.executable, path, out, *closed], check=False, timeout=PATIENCE)
    assert (done.returncode, out.read_text()) == (0, "0")


def served(setup, arena, channel):
    """Run a worker with these descriptors, and return the finished process."""
    made = f"""
import os
told = dict(parent=os.getppid(), argv=[], channel={channel}, level=30, arena={arena}, caches=0, kept=0)
from importlib import import_module
import_module("{setup.program}").serve(told)
"""
    passed = [channel, *([] if arena is None else arena[:1])]
    return subprocess.run(
        [sys.executable, "-c", made], pass_fds=passed, capture_output=True, text=True, timeout=PATIENCE, check=False
    )


@pytest.mark.parametrize("program", [starting.MAKES_TASKS, starting.MAKES_RUNS])
@pytest.mark.parametrize("is_arena_gone", [False, True])
def test_a_worker_that_was_let_go_before_it_began_ends_silently(program, is_arena_gone):
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.close()
        done = served(
            PoolSetup(1, program=program), [theirs.fileno(), 1 << 20] if is_arena_gone else None, theirs.fileno()
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_worker_that_cannot_map_the_arena_says_so():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        done = served(PoolSetup(1), [theirs.fileno(), 1 << 20], theirs.fileno())
    assert done.returncode
    assert "Mapping" in done.stderr
