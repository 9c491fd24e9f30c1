"""After iterators that were abandoned, and after every end of the process, nothing is left."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from time import monotonic

import numpy as np
import pytest

import penstock as ps
from penstock.engine.workers.lifetime import WORKER
from tests.workers import PATIENCE, await_workers

ROOT = Path(__file__).resolve().parents[3]
D = ps.Dataset
PROC = Path("/proc/self")
ABANDONED = 40
DATA = np.arange(40_000).reshape(-1, 4)
WAYS = {
    "inline": D.range(100).map(abs).batch(4).with_options(ps.Options(executor="inline")),
    "threads": D.range(100).map(abs).batch(4).with_options(ps.Options(workers=2)),
    "native thread": D.from_tensor_slices(DATA).shuffle(seed=1).batch(8),
    "stream": D.range(100).filter(lambda x: x % 2 == 0).batch(4),
    "stream in threads": D.range(100).filter(lambda x: x % 2 == 0).batch(4).with_options(ps.Options(workers=2)),
    "producer": D.from_generator(lambda: iter(range(100))).batch(4).prefetch(2),
    "datasets": D.range(100).interleave(lambda x: D.range(3), cycle_length=2).with_options(ps.Options(workers=2)),
    "feed": D.range(100).batch(4),
    "feed in threads": D.range(100).batch(4).with_options(ps.Options(workers=2)),
}


def held():
    """Return how many workers, threads, descriptors, maps of shared memory and temporary files the process has."""
    await_workers()
    gc.collect()
    workers = sum(thread.name == WORKER for thread in threading.enumerate())
    tasks = len(os.listdir(PROC / "task")) - any(each.name == "penstock-watchdog" for each in threading.enumerate())
    maps = sum("/dev/shm" in line or "memfd:" in line for line in (PROC / "maps").read_text().splitlines())
    return workers, tasks, len(os.listdir(PROC / "fd")), maps, len(os.listdir(tempfile.gettempdir()))


def is_more(now, before):
    return any(one > other for one, other in zip(now, before, strict=True))


@pytest.mark.skipif(not PROC.is_dir(), reason="there is no /proc here")
@pytest.mark.parametrize("way", WAYS)
def test_iterators_that_are_abandoned_leave_nothing(way, tmp_path, monkeypatch):
    ds = WAYS[way]
    if way.startswith("feed"):
        pytest.importorskip("torch")
        ds = ds.to_torch()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    next(iter(ds))
    before = held()
    for _ in range(ABANDONED):
        next(iter(ds))
    until = monotonic() + PATIENCE
    while is_more(now := held(), before) and monotonic() < until:  # a thread that has ended is a task for a moment more
        threading.Event().wait(0.01)
    assert not is_more(now, before)


ENDED = """
import multiprocessing, os, signal, sys, threading
from concurrent.futures import ProcessPoolExecutor
import numpy as np
import penstock as ps

TABLE = np.arange(100_000)  # makes the plan large

if __name__ == "__main__":
    pool = ProcessPoolExecutor({workers}, mp_context=multiprocessing.get_context({context!r}))
    table = TABLE + 1
    executor = (lambda: pool) if {from_factory} else pool
    ds = ps.Dataset.range(1_000_000).map(lambda row: (table[row % 1000], os.getpid()))
    for number, element in enumerate(ds.with_options(ps.Options(executor=executor))):
        if number == 300:
            print(*pool._processes, flush=True)  # some of which may not have had a task
            {end}
"""
ENDS = {
    "exception": "raise ValueError",
    "interrupt": "signal.raise_signal(signal.SIGINT)",
    "exit": "sys.exit(3)",
    "exit at once": "os._exit(3)",
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "terminated": "os.kill(os.getpid(), signal.SIGTERM)",
    "break": "break",
}
OTHERS = [("spawn", True), ("forkserver", False)]  # each with one end of a kind


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not hasattr(os, "pidfd_open") or not PROC.is_dir(), reason="there are no pidfds here")
@pytest.mark.parametrize(
    ("context", "from_factory", "end"),
    [(context, False, end) for context in ("spawn", "fork") for end in ENDS]
    + [(context, from_factory, end) for context, from_factory in OTHERS for end in ("exception", "killed", "break")],
)
def test_the_end_of_the_process_leaves_no_process_and_no_file(end, context, from_factory, tmp_path, tmp_path_factory):
    program = tmp_path / "program.py"
    program.write_text(
        ENDED.format(end=ENDS[end], context=context, from_factory=from_factory, workers=6 if context == "fork" else 2)
    )
    temporary = tmp_path_factory.mktemp("t")  # short enough for the name of a socket
    command = [sys.executable, "-W", "ignore::DeprecationWarning", str(program)]
    environment = {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, stderr=subprocess.PIPE) as ended:
        workers = ended.stdout.readline().split()
        ended.wait(60)
        until = monotonic() + 20  # two seconds, on a machine that is not busy
        while any(map(is_alive, workers)) and monotonic() < until:
            threading.Event().wait(0.01)
        assert len(workers) >= 1
        assert not any(map(is_alive, workers))
        assert list(temporary.glob("penstock*")) == []
        assert [each for each in temporary.iterdir() if each.is_file()] == []
