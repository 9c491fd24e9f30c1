from __future__ import annotations

import os
import sys
import threading
import time

import pytest

from penstock.kernels.clocks import thread_times, wait_for_gil
from penstock.kernels.reference import clocks as reference


def test_clocks_equal_those_of_the_twin():
    for _ in range(10):
        before, times, after = reference.thread_times(), thread_times(), reference.thread_times()
        assert all(low <= value <= high for low, value, high in zip(before, times, after, strict=True))


def test_clocks_are_those_of_the_calling_thread():
    while time.thread_time_ns() < 10_000_000:
        pass
    seen = []
    thread = threading.Thread(target=lambda: seen.append((thread_times(), reference.thread_times())))
    thread.start()
    thread.join()
    (_, cpu, starved, *counts), after = seen[0]
    assert cpu <= after[1] < thread_times()[1]
    assert (starved, *counts) <= after[2:]


def test_a_thread_that_sleeps_waits():
    before = thread_times()
    time.sleep(0.002)
    after = thread_times()
    assert after[3] > before[3]
    assert after[1] - before[1] < after[0] - before[0]


@pytest.mark.parametrize("wait", [wait_for_gil, reference.wait_for_gil])
def test_a_thread_waits_for_the_gil_that_another_holds(wait):
    held, over = threading.Event(), threading.Event()

    def hold():
        held.set()
        while not over.is_set():
            pass

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    waits = any(wait() > 1_000_000 for _ in range(20_000))  # the interpreter lets a thread keep the GIL for 5 ms
    over.set()
    thread.join()
    assert waits is getattr(sys, "_is_gil_enabled", lambda: True)()


def test_nobody_waits_for_a_gil_that_nobody_holds():
    assert min(wait_for_gil() for _ in range(20)) < 1_000_000


def test_a_forked_child_reads_its_own():
    thread_times()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        before, times, after = reference.thread_times(), thread_times(), reference.thread_times()
        fine = all(low <= value <= high for low, value, high in zip(before, times, after, strict=True))
        os.write(writing, b"fine" if fine else b"not")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 4) == b"fine"
    os.close(reading)
    os.close(writing)
