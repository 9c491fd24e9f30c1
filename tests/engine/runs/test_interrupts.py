"""Interrupts that reach the consumer while it waits: they cancel the run, lose nothing and leave nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from penstock.core.errors import ClosedError
from penstock.engine.runs.run import Run

ROOT = Path(__file__).resolve().parents[3]
D = ps.Dataset

INTERRUPTED = """
import os, signal, sys, threading
import penstock as ps

begun = threading.Event()

def sleep(x):
    if x == 3:
        begun.set()
        threading.Event().wait()
    return True

def once(_, frame):
    if frame.f_code.co_name == "wait" and not interrupted:
        interrupted.append(True)
        raise KeyboardInterrupt

def interrupt():
    begun.wait()
    while not interrupted:  # perhaps nobody waits yet, and Python may overlook a signal just before it blocks
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.1)

interrupted = []
signal.signal(signal.SIGINT, once)

options = ps.Options(executor={executor!r}, workers={workers})
it = {dataset}.with_options(options).iterator()
threading.Thread(target=interrupt, daemon=True).start()
received = []
try:
    received.extend(it)
except KeyboardInterrupt:
    print("interrupted", len(received) <= 3)
try:
    next(it)
except ps.errors.ClosedError as error:
    print(error)
print(it.state_dict()["row"] == len(received))
"""


FAR_INTERRUPTED = """
import itertools, signal, threading
import penstock as ps

def endless():
    if again:
        threading.Timer(0, signal.raise_signal, [signal.SIGINT]).start()
    return itertools.count()

again = []
it = ps.Dataset.from_generator(endless).iterator()
assert all(next(it) == number for number in range(300))
it.load_state_dict({**it.state_dict(), "row": 1 << 47, "mark": [1 << 47, None]})
again.append(True)
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted")
try:
    next(it)
except ps.errors.ClosedError as error:
    print(error)
"""


def ran(program):
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)
    return done.stdout, done.stderr, done.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("executor", "workers"), [("threads", 2), ("inline", None)])
@pytest.mark.parametrize(
    "dataset",
    ["ps.Dataset.range(9).map(sleep)", "ps.Dataset.range(9).filter(sleep).skip(0).enumerate()"],
    ids=["rows", "stream"],
)
def test_an_interrupt_cancels_the_wait(dataset, executor, workers):
    said = "interrupted True\nthis iterator was cancelled; create a new one, or load a saved state into it\nTrue\n"
    assert ran(INTERRUPTED.format(dataset=dataset, executor=executor, workers=workers)) == (said, "", 0)


def test_an_interrupt_ends_an_iterator_of_c_code_that_skips_to_a_distant_position():
    said = "interrupted\nthis iterator was cancelled; create a new one, or load a saved state into it\n"
    assert ran(FAR_INTERRUPTED) == (said, "", 0)


def test_an_interrupt_while_a_thread_starts_leaves_no_thread(monkeypatch):
    producers = []
    start = Run._produce_ahead

    def interrupted(run):
        start(run)
        producers.append(run._producer)
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "_produce_ahead", interrupted)
    it = D.range(9).filter(lambda x: x % 2 == 0).with_options(ps.Options(executor="threads", workers=2)).iterator()
    with pytest.raises(KeyboardInterrupt):
        next(it)
    with pytest.raises(ClosedError, match="cancelled"):
        next(it)
    (producer,) = producers
    with pytest.raises(ClosedError):
        next(producer)


class InterruptedAtItsEnd:
    """A lock that is given back, and then an interrupt arrives."""

    def __init__(self, lock):
        self.lock = lock

    def __enter__(self):
        self.lock.acquire()

    def __exit__(self, *error):
        self.lock.release()
        raise KeyboardInterrupt


def test_an_item_that_an_interrupt_kept_from_its_consumer_is_not_counted():
    it = D.range(9).iterator()
    received = [next(it), next(it)]
    lock, it._lock = it._lock, InterruptedAtItsEnd(it._lock)
    with pytest.raises(KeyboardInterrupt):
        next(it)
    it._lock = lock
    with pytest.raises(ClosedError, match="cancelled"):
        next(it)
    rest = D.range(9).iterator()
    rest.load_state_dict(it.state_dict())
    assert [*received, *rest] == list(range(9))
