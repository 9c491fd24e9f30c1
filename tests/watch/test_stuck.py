"""The watchdog: a run in which nothing moves is reported with its stack; a slow one that moves is not."""

from __future__ import annotations

import logging
import math
import os
import threading
from concurrent.futures import Executor, Future
from contextlib import suppress
from time import monotonic

import pytest

import penstock as ps
from penstock.watch import stuck
from penstock.watch.stuck import LOOKS_WITHIN, Watchdog

D = ps.Dataset
PATIENCE = 60


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Give each test a watchdog of its own, which is never started."""
    watchdog = Watchdog()
    watchdog.thread = threading.current_thread()
    monkeypatch.setattr(stuck, "watchdog", watchdog)
    return watchdog


class Gate:
    """Lets functions of a pipeline wait for the test, and the test for them."""

    def __init__(self):
        self.reached, self.opened = threading.Semaphore(0), threading.Semaphore(0)

    def wait(self):
        self.reached.release()
        assert self.opened.acquire(timeout=PATIENCE)


class Consumer:
    """Takes elements in a thread, and looks at the run as the watchdog would, by a clock of the test's."""

    def __init__(self, ds, watchdog, **options):
        self.it = ds.with_options(ps.Options(stuck_after=100, **options)).iterator()
        self.watchdog, self.clock, self.received = watchdog, monotonic(), []
        self.thread = threading.Thread(target=self.consume, daemon=True)
        self.thread.start()

    def consume(self):
        with suppress(ps.errors.ClosedError):
            self.received.extend(self.it)

    def looks(self, monkeypatch, seconds):
        """Look every 25 s for so many seconds; return the events told meanwhile."""
        before = len(self.it.stats().events)
        for _ in range(round(seconds * LOOKS_WITHIN / 100)):
            self.clock += 100 / LOOKS_WITHIN + 0.1
            monkeypatch.setattr(stuck, "monotonic", lambda: self.clock)
            self.watchdog._look()
        return self.it.stats().events[before:]

    def told(self, monkeypatch):
        """Look until there is an event, and return it."""
        while not (events := self.looks(monkeypatch, 25)):
            threading.Event().wait(0.002)  # other threads may still be at work
        return events[0]


def sleeper(gate, at):
    def wait_for_the_network(x):
        if x == at:
            gate.wait()
        return x

    return wait_for_the_network


PLANS = {
    "map": lambda fn: D.range(60).map(fn, vectorized=False).batch(4),
    "filter": lambda fn: D.range(60).filter(lambda x: fn(x) >= 0).batch(4),
    "generator": lambda fn: D.from_generator(lambda: map(fn, range(60))).batch(4),
    "flat_map": lambda fn: D.range(60).flat_map(lambda x: D.range(1).map(lambda y: fn(x))).batch(4),
}
WAYS = {"auto": {}, "inline": {"executor": "inline"}, "threads": {"executor": "threads", "workers": 3}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("plan", PLANS)
def test_a_function_that_sleeps_is_reported_with_its_stack_and_again_later(plan, way, alone, monkeypatch, caplog):
    gate = Gate()
    ds = PLANS[plan](sleeper(gate, 22))
    options = {**WAYS[way], "workers": 1} if way == "threads" else WAYS[way]
    consumer = Consumer(ds, alone, **options)
    assert gate.reached.acquire(timeout=PATIENCE)
    assert consumer.looks(monkeypatch, 100) == ()
    event = consumer.told(monkeypatch)
    assert event.kind == "stuck"
    assert "the consumer has waited 1" in event.words
    assert "wait_for_the_network" in event.words
    assert "gate.wait()" in event.words
    own = "from_generator" if plan == "generator" else plan
    of_flat_map = {"threads": stuck.INSIDE, "auto": (own, stuck.INSIDE)}  # which begins threads on a busy machine
    assert event.operation.startswith(of_flat_map.get(way, own) if plan == "flat_map" else own)
    assert [record.getMessage() for record in caplog.records] == [event.words]
    assert "the consumer has waited" in consumer.it.verdict()
    assert len(consumer.looks(monkeypatch, 1600)) == 3  # at growing intervals
    gate.opened.release()
    consumer.thread.join(PATIENCE)
    assert [int(x) for batch in consumer.received for x in batch] == list(range(60))
    assert consumer.looks(monkeypatch, 400) == ()


def test_the_rows_of_a_task_are_named(alone, monkeypatch):
    gate = Gate()
    consumer = Consumer(D.range(60).map(sleeper(gate, 22), vectorized=False), alone, executor="inline")
    assert gate.reached.acquire(timeout=PATIENCE)
    event = consumer.told(monkeypatch)
    assert event.rows[0] <= 22 < event.rows[1]
    assert f"does not move at items {event.rows[0]} to {event.rows[1]}" in event.words
    gate.opened.release()
    consumer.thread.join(PATIENCE)


def moving(consumer, gate, monkeypatch, steps):
    """Return the events of a run that moves once between two looks."""
    told = []
    for _ in range(steps):
        assert gate.reached.acquire(timeout=PATIENCE)
        told += consumer.looks(monkeypatch, 50)
        gate.opened.release()
    return told


@pytest.mark.parametrize("way", ["inline", "threads"])  # by default, a run may go from one to the other meanwhile
@pytest.mark.parametrize("plan", ["map", "filter", "generator"])
def test_a_pipeline_that_is_slow_but_moves_is_not_reported(plan, way, alone, monkeypatch):
    gate = Gate()

    def slow(x):
        gate.wait()
        return x

    options = {**WAYS[way], "workers": 1} if way == "threads" else WAYS[way]
    consumer = Consumer(PLANS[plan](slow).take(3), alone, **options)
    assert moving(consumer, gate, monkeypatch, 12) == []
    for _ in range(50):
        gate.opened.release()
    consumer.thread.join(PATIENCE)
    assert len(consumer.received) == 3


def test_a_consumer_that_does_not_ask_is_not_reported(alone, monkeypatch):
    it = D.range(60).map(lambda x: x).with_options(ps.Options(stuck_after=100, workers=2)).iterator()
    next(it)
    clock = monotonic()
    for look in range(50):
        monkeypatch.setattr(stuck, "monotonic", lambda look=look: clock + 26 * look)
        alone._look()
    assert it.stats().events == ()


def test_a_process_that_was_stopped_for_a_while_is_not_reported(alone, monkeypatch):
    gate = Gate()
    consumer = Consumer(D.range(60).map(sleeper(gate, 22), vectorized=False), alone, executor="inline")
    assert gate.reached.acquire(timeout=PATIENCE)
    assert consumer.looks(monkeypatch, 75) == ()
    consumer.clock += 3600
    assert consumer.looks(monkeypatch, 100) == ()
    assert len(consumer.looks(monkeypatch, 75)) == 1
    gate.opened.release()
    consumer.thread.join(PATIENCE)


def test_a_function_in_a_debugger_is_not_reported(alone, monkeypatch):
    gate = Gate()
    space = {"__name__": "pdb", "gate": gate}
    exec("def interact():\n    gate.wait()", space)

    def debugged(x):
        if x == 22:
            space["interact"]()
        return x

    consumer = Consumer(D.range(60).map(debugged, vectorized=False), alone, executor="inline")
    assert gate.reached.acquire(timeout=PATIENCE)
    assert consumer.looks(monkeypatch, 1000) == ()
    gate.opened.release()
    consumer.thread.join(PATIENCE)


class Silent(Executor):
    """Takes tasks and never ends them."""

    def __init__(self):
        self.asked = threading.Event()

    def submit(self, fn, /, *args, **kwargs):
        self.asked.set()
        return Future()


def test_an_executor_that_never_answers_is_named(alone, monkeypatch):
    executor = Silent()
    consumer = Consumer(D.range(60), alone, executor=executor)
    assert executor.asked.wait(PATIENCE)
    event = consumer.told(monkeypatch)
    assert "nothing comes from Silent" in event.words
    consumer.it.close()
    consumer.thread.join(PATIENCE)


def test_a_run_that_is_not_to_be_watched_starts_no_thread(alone):
    alone.thread = None
    assert list(D.range(9).with_options(ps.Options(stuck_after=math.inf))) == list(range(9))
    assert alone.thread is None


def test_the_thread_reports_by_itself_and_ends_with_the_last_run(alone, caplog):
    alone.thread = None
    told, gate = threading.Event(), Gate()

    class Told(logging.Handler):
        def emit(self, record):
            told.set()

    handler = Told()
    logging.getLogger("penstock").addHandler(handler)
    ds = D.range(9).map(sleeper(gate, 3), vectorized=False).with_options(ps.Options(stuck_after=0.02))
    consumer = threading.Thread(target=lambda: list(ds), daemon=True)
    consumer.start()
    thread = alone.thread
    while thread is None:
        thread = alone.thread
    assert told.wait(PATIENCE)
    logging.getLogger("penstock").removeHandler(handler)
    gate.opened.release()
    consumer.join(PATIENCE)
    thread.join(PATIENCE)
    assert alone.thread is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_the_thread_ends_before_a_fork_and_begins_again_with_the_next_element(alone):
    alone.thread = None
    it = D.range(1_000_000).with_options(ps.Options(executor="inline", memory_budget=8000)).iterator()
    next(it)
    thread = alone.thread
    assert thread.is_alive()
    alone.before_fork()
    assert not thread.is_alive()
    list(zip(it, range(100_000), strict=False))
    assert alone.thread.is_alive()
    it.close()
    alone.before_fork()


def test_a_paused_run_is_not_reported(alone, monkeypatch):
    gate = Gate()
    consumer = Consumer(D.range(60).map(sleeper(gate, 22)).batch(4), alone, executor="threads", workers=1)
    assert gate.reached.acquire(timeout=PATIENCE)
    consumer.it._run.session.pause()
    assert consumer.looks(monkeypatch, 1000) == ()
    consumer.it._run.session.resume()
    assert consumer.told(monkeypatch).kind == "stuck"
    gate.opened.release()
    consumer.thread.join(PATIENCE)
    assert len(consumer.received) == 15


def test_the_operations_that_threads_are_in_are_named(alone):
    gate = Gate()
    consumer = Consumer(D.range(60).map(sleeper(gate, 22)).batch(4), alone, executor="threads", workers=1)
    assert gate.reached.acquire(timeout=PATIENCE)
    assert consumer.it._watched.at_work() == ["map(wait_for_the_network)"]
    gate.opened.release()
    consumer.thread.join(PATIENCE)
    assert consumer.it._watched.at_work() == []
