"""Interrupts that reach the consumer while it waits: they cancel the run, lose nothing and leave nothing."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from itertools import count
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


INTERRUPTIBLE = ("dataset/iterator.py", "runs/run.py", "cursors/position.py")


class InterruptedAtLine:
    """A trace function that interrupts before the line of this number, of those on the way of an item."""

    def __init__(self, number):
        self.left = number

    def __call__(self, frame, event, argument):
        if not frame.f_code.co_filename.endswith(INTERRUPTIBLE):
            return None
        if event == "line":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


@pytest.mark.parametrize(
    "ds",
    [D.range(6).map(lambda x: x).batch(3), D.range(8).filter(lambda x: x % 4 > 0).batch(3)],
    ids=["rows", "stream"],
)
def test_an_interrupt_at_any_line_loses_no_item_and_makes_none_twice(ds):
    whole, tracing = [batch.tolist() for batch in ds], sys.gettrace()
    for number in count(1):
        it, resumed, received = ds.with_options(ps.Options(executor="inline")).iterator(), ds.iterator(), []
        sys.settrace(InterruptedAtLine(number))
        try:
            received.extend(batch.tolist() for batch in it)
        except KeyboardInterrupt:
            sys.settrace(tracing)
        else:
            break  # there are no more lines
        finally:
            sys.settrace(tracing)
        resumed.load_state_dict(it.state_dict())
        assert received + [batch.tolist() for batch in resumed] == whole, f"line {number}"
        with suppress(ClosedError):
            received.extend(batch.tolist() for batch in it)
        assert received == whole[: len(received)], f"line {number}"
    assert number > 100
