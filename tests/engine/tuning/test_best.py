"""The tuner ends within five per cent of the best number of threads, found by trying all on a simulated machine."""

from __future__ import annotations

import pytest

from penstock.engine.tuning.tuner import Tuner
from tests.engine.tuning.simulated import MS, US, Machine, Part

CORES = 2
ALL = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # numbers of threads that are tried
LATE = 100_000  # the number of a task by which a workload no longer changes


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("penstock.engine.tuning.tuner.available_cores", lambda: float(CORES))


def cpu_bound(i):
    return [Part("hold", 100 * US), Part("run", 2 * MS)]


def gil_bound(i):
    return [Part("hold", 1.5 * MS)]


def latency_bound(i):
    return [Part("wait", 10 * MS), Part("hold", 50 * US)]


def bursty(i):
    return [Part("hold", 100 * US), Part("run", 10 * MS if i % 16 == 0 else MS)]


def memory_bound(i):
    return [Part("hold", 50 * US), Part("move", 2 * MS)]


def waiting_at_first(i):
    return [Part("wait", 10 * MS), Part("hold", 50 * US)] if i < 1500 else cpu_bound(i)


def waiting_later(i):
    return latency_bound(i) if i >= 300 else cpu_bound(i)


WORKLOADS = [
    (cpu_bound, 600),
    (gil_bound, 600),
    (latency_bound, 3000),
    (bursty, 1000),
    (memory_bound, 600),
    (waiting_at_first, 3000),
    (waiting_later, 6000),
]


def rate(work, threads, count=400):
    """Items a ms of a fixed number of threads, once the workload has stopped to change."""
    return count * MS / Machine(lambda i: work(LATE + i), CORES, bandwidth=1).run(count, threads=threads)


def took(work, count):
    """The ns that the tuner takes for so many items, from the first on."""
    return Machine(work, CORES, bandwidth=1).run(count, Tuner(None))


@pytest.mark.parametrize(("work", "count"), WORKLOADS, ids=lambda each: getattr(each, "__name__", ""))
def test_the_tuner_ends_within_five_per_cent_of_the_best(work, count):
    last = 1000 * MS / (took(work, count + 1000) - took(work, count))  # attempts at other numbers included
    assert last >= 0.95 * max(rate(work, threads) for threads in ALL)


def test_each_epoch_begins_with_the_threads_that_its_first_half_needs():
    def work(i):
        hold = Part("hold", 50 * US)
        return [Part("wait", 20 * MS), hold] if i < 1500 else [hold, Part("run", 1.4 * MS)]

    tuner, best = Tuner(None), Machine(work, CORES).run(2500, threads=64)
    for _ in range(3):
        assert best / Machine(work, CORES).run(2500, tuner) >= 0.95
        tuner = tuner.heir()


@pytest.mark.parametrize("work", [cpu_bound, gil_bound, memory_bound, bursty])
def test_no_more_threads_than_cores_remain_if_tasks_do_not_wait(work):
    tuner = Tuner(None)
    Machine(work, CORES, bandwidth=1).run(600, tuner)
    assert tuner.threads <= CORES


def test_every_number_of_threads_has_a_reason_in_words():
    for work, words in ((cpu_bound, "2 cores × 1.0"), (gil_bound, "hold the GIL"), (latency_bound, "time of a task")):
        tuner = Tuner(None)
        Machine(work, CORES).run(400, tuner)
        assert any(words in decision for decision in tuner.decisions)
