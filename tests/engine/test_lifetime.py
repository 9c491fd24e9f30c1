from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.engine import lifetime

ROOT = Path(__file__).resolve().parents[2]


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


def test_a_run_that_nobody_holds_is_forgotten():
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
import penstock as ps

begun = threading.Event()

def sleep(x):
    if x == 3:
        begun.set()
        threading.Event().wait()  # for ever
    return x

it = ps.Dataset.range(64).map(sleep, num_parallel_calls={workers}).iterator()
print(next(it), begun.wait(30))
"""


@pytest.mark.parametrize("workers", [1, 8])
def test_the_interpreter_ends_while_tasks_sleep(workers):
    assert ran(ASLEEP.format(workers=workers)) == ("0 True\n", "", 0)


FORKED = """
import os
from concurrent.futures import ThreadPoolExecutor
import penstock as ps

with ThreadPoolExecutor(2) as executor:
    it = ps.Dataset.range(300).batch(3).with_options(ps.Options(executor=executor)).iterator()
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
def test_a_forked_child_does_without_the_executor_of_its_parent():
    assert ran(FORKED) == ("both\n", "", 0)


IN_NATIVE_CODE = """
import io
import sys
import time
import numpy as np
import penstock as ps
from PIL import Image

file = io.BytesIO()
noise = np.random.default_rng(0).integers(0, 255, (1200, 1600, 3), np.uint8)
Image.fromarray(noise).save(file, "JPEG", quality=95)
photos = ps.Dataset.from_source([file.getvalue()]).repeat(1000).map(ps.image.decode(exact=True), num_parallel_calls=2)
it = photos.map(ps.image.resize((64, 64))).batch(16).iterator()
next(it)
it.close()
del it  # nothing knows of the run any more, and its threads are decoding

class Flushed:
    times = 0

    def write(self, text):
        return len(text)

    def flush(self, sleep=time.sleep):
        self.times += 1
        if self.times == 2:  # the interpreter flushes once more in the midst of the tear-down
            sleep(1.0)

sys.stdout = Flushed()
"""


def test_the_end_of_the_interpreter_waits_for_native_code_of_runs_closed_before():
    assert ran(IN_NATIVE_CODE) == ("", "", 0)  # a thread that came back into the tear-down would abort the process
