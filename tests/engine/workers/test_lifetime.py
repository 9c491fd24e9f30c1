from __future__ import annotations

import decimal
import gc
import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.engine.workers import lifetime
from tests.workers import posted, threads_of

ROOT = Path(__file__).resolve().parents[3]


class Run:
    def __init__(self):
        self.calls = []

    def close(self):
        self.calls.append("close")

    def after_fork(self):
        self.calls.append("after_fork")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    import weakref

    monkeypatch.setattr(lifetime, "_alive", weakref.WeakSet())


def test_all_runs_are_closed_at_the_end():
    runs = [Run(), Run()]
    for run in runs:
        lifetime.watch_over(run)
    lifetime._at_exit()
    assert [run.calls for run in runs] == [["close"], ["close"]]


def test_an_unreferenced_run_is_dropped():
    run = Run()
    lifetime.watch_over(run)
    calls = run.calls
    del run
    gc.collect()
    lifetime._at_exit()
    lifetime._after_fork()
    assert calls == []


def ran(program):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    return done.stdout, done.stderr, done.returncode


ASLEEP = """
import threading
import weakref
import penstock as ps

begun = threading.Event()

def sleep(x):
    if x == 3:
        begun.set()
        threading.Event().wait()  # for ever
    return x

ds = ps.Dataset.range(64).{plan}.with_options(ps.Options(workers={workers}))
it = ds.iterator()
print(next(it), begun.wait(30))
"""


@pytest.mark.parametrize("workers", [1, 8])
@pytest.mark.parametrize("plan", ["map(sleep)", "filter(lambda x: True).skip(0).map(sleep).take(60)"])
def test_the_interpreter_ends_while_tasks_sleep(plan, workers):
    assert ran(ASLEEP.format(plan=plan, workers=workers)) == ("0 True\n", "", 0)


FORKED = """
import os
from concurrent.futures import ThreadPoolExecutor
import penstock as ps

with ThreadPoolExecutor(2) as executor:
    it = ps.Dataset.range(300).{plan}.batch(3).with_options(ps.Options(executor=executor)).iterator()
    first = [next(it).tolist() for _ in range(4)]
    child = os.fork()
    rest = [batch.tolist() for batch in it]
    assert sum(first + rest, []) == list(range(300)), rest
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("both")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("plan", ["skip(0)", "filter(lambda x: True)"])
def test_a_forked_child_does_not_use_the_executor_of_its_parent(plan):
    assert ran(FORKED.format(plan=plan)) == ("both\n", "", 0)


UNASKED = """
import os, threading
import penstock as ps

def refuse_elsewhere(x):
    assert os.getpid() == parent, "a forked child ran a function, unasked"
    return True

parent = os.getpid()
it = ps.Dataset.range(3000).filter(refuse_elsewhere).batch(3).with_options(ps.Options(workers=2)).iterator()
next(it)
child = os.fork()
if child == 0:
    threads = threading.active_count()
    it.close()
    os._exit(threads - 1)
assert os.waitpid(child, 0)[1] == 0
print(len(list(it)))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_that_requests_no_element_starts_no_thread():
    assert ran(UNASKED) == ("999\n", "", 0)


def test_exit_waits_for_worker_threads_of_dropped_runs(monkeypatch):
    waited = []
    names = [lifetime.WORKER, "the user's", lifetime.CREW]
    threads = [
        SimpleNamespace(name=name, join=lambda timeout, at=at: waited.append(at)) for at, name in enumerate(names)
    ]
    monkeypatch.setattr(lifetime.threading, "enumerate", lambda: threads)
    lifetime._at_exit()
    assert waited == [0, 2]


def test_worker_threads_have_the_name_that_exit_looks_for():
    with threads_of(1) as threads:
        assert posted(threads, lambda: threading.current_thread().name).result(10) == lifetime.WORKER


def test_each_worker_thread_has_decimal_settings_of_its_own():
    decimal.getcontext().prec = 11
    barrier = threading.Barrier(2)

    def set_and_read(digits):
        before = decimal.getcontext().prec
        decimal.getcontext().prec = digits
        barrier.wait(10)
        return before, decimal.getcontext().prec

    try:
        with threads_of(2) as threads:
            results = [posted(threads, lambda digits=digits: set_and_read(digits)) for digits in (5, 7)]
            assert sorted(result.result(10) for result in results) == [(11, 5), (11, 7)]
        assert decimal.getcontext().prec == 11
    finally:
        decimal.getcontext().prec = decimal.DefaultContext.prec


@pytest.mark.parametrize("options", ["", "executor='threads', workers=2", "executor='inline'"])
def test_a_thread_may_iterate_after_the_main_thread_has_ended(options):
    out, err, code = ran(
        "import threading, penstock as ps\n"
        "def work():\n"
        "    threading.main_thread().join()\n"
        f"    ds = ps.Dataset.range(90).map(lambda x: x).batch(3).with_options(ps.Options({options}))\n"
        "    print(sum(len(batch) for batch in ds))\n"
        "threading.Thread(target=work).start()"
    )
    assert (out, err, code) == ("90\n", "", 0)


def test_each_run_begins_again_in_a_forked_child_though_another_one_cannot(monkeypatch):
    begun = []

    class Noted:
        def close(self):
            pass

        def after_fork(self):
            begun.append(self)

    class Broken(Noted):
        def after_fork(self):
            super().after_fork()
            raise RuntimeError("cannot begin")

    monkeypatch.setattr(lifetime, "_alive", weakref.WeakSet())
    runs = [Broken(), Noted(), Broken(), Noted()]
    for run in runs:
        lifetime.watch_over(run)
    with pytest.raises(RuntimeError, match="cannot begin"):
        lifetime._after_fork()
    assert sorted(map(id, begun)) == sorted(map(id, runs))
