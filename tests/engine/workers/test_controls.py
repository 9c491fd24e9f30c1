"""Changes of a run under way: pauses, numbers of threads and budgets never change the items or their order."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.core.errors import ClosedError
from penstock.engine.tuning.tuner import Tuner
from penstock.engine.workers.controls import Controls
from tests.workers import await_end_of

PATIENCE = 60


def squares():
    return Dataset.range(400).shuffle(seed=0).map(lambda x, *, rng: x * x + int(rng.integers(9))).batch(3)


PIPELINES = {
    "rows": squares,
    "stream": lambda: squares().unbatch().filter(lambda x: x % 3 > 0).batch(4),
    "scan": lambda: squares().unbatch().scan(0, lambda total, x: (total + x, total)).batch(5),
    "generator": lambda: Dataset.from_generator(lambda: iter(range(300))).map(lambda x: x * 2).batch(7),
}
OPTIONS = [Options(), Options(executor="threads", workers=3), Options(executor="inline"), Options(executor="threads")]


def as_lists(batches):
    return [batch.tolist() for batch in batches]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_items_are_the_same_whatever_is_changed_meanwhile(pipeline, options):
    expected = as_lists(PIPELINES[pipeline]().with_options(Options(seed=1, executor="inline")))
    it = PIPELINES[pipeline]().with_options(options).with_options(Options(seed=1)).iterator()
    received = [next(it)]
    for number, batch in enumerate(it):
        received.append(batch)
        if number % 5 == 0:
            it._run.session.pause()
            it._run.session.resume()
        if number % 7 == 0:
            it._run.session.change_workers(1 + number % 4)
        if number % 11 == 0:
            it._run.session.change_budget(1 + (number % 2) * 100_000_000)
    assert as_lists(received) == expected


class Consumer(threading.Thread):
    """Takes items one by one, each when it is told to."""

    def __init__(self, it):
        super().__init__()
        self.it, self.received, self.failure = it, [], None
        self.asked, self.taken = threading.Semaphore(0), threading.Semaphore(0)
        self.start()

    def run(self):
        while self.asked.acquire(timeout=PATIENCE):
            try:
                self.received.append(next(self.it))
            except StopIteration:
                return
            except ClosedError as error:
                self.failure = error
                return
            finally:
                self.taken.release()

    def take(self):
        self.asked.release()
        assert self.taken.acquire(timeout=PATIENCE)


def test_a_consumer_waits_while_the_run_is_paused_and_goes_on_after_it(monkeypatch):
    arrived = threading.Event()
    waited = Controls.waited
    it = Dataset.range(9).batch(3).with_options(Options(executor="inline")).iterator()
    consumer = Consumer(it)
    consumer.take()
    monkeypatch.setattr(Controls, "waited", lambda controls: (arrived.set(), waited(controls))[1])
    it._run.session.pause()
    consumer.asked.release()
    assert arrived.wait(PATIENCE)
    while not it._run.session.controls.waits_since:
        threading.Event().wait(0.001)
    assert it._glance().paused
    one, other = it.stats(), it.stats()
    assert one.seconds == pytest.approx(other.seconds, abs=1e-9)
    assert not consumer.taken.acquire(timeout=0.01)
    it._run.session.resume()
    assert consumer.taken.acquire(timeout=PATIENCE)
    for _ in range(2):
        consumer.take()
    consumer.join(PATIENCE)
    assert as_lists(consumer.received) == [[0, 1, 2], [3, 4, 5], [6, 7, 8]]
    assert not it._run.session.controls.paused


def test_a_pause_is_neither_a_wait_nor_a_step(monkeypatch):
    it = Dataset.range(9).with_options(Options(executor="inline")).map(str).batch(3).iterator()
    next(it)
    before, first = it.stats(), it._first
    it._run.session.pause()
    it._run.session.resume()
    monkeypatch.setattr(Controls, "waited", lambda controls: 5_000_000_000)
    next(it)
    assert it._first - first == 5_000_000_000
    assert it.stats().waited < before.waited + 5


def test_threads_begin_no_task_while_the_run_is_paused():
    begun, may_end, calls = threading.Semaphore(0), threading.Semaphore(0), []

    def work(x):
        calls.append(int(x))
        begun.release()
        assert may_end.acquire(timeout=PATIENCE)
        return x

    it = Dataset.range(40).map(work).batch(1).with_options(Options(executor="threads", workers=2)).iterator()
    consumer = Consumer(it)
    consumer.asked.release()
    for _ in range(2):
        assert begun.acquire(timeout=PATIENCE)
    threads = it._run.session.threads
    it._run.session.pause()
    assert threads.workers == 0
    assert it.stats().mode == "2 threads"
    for _ in range(2):
        may_end.release()
    await_end_of(threads)  # both end after the task in hand
    assert len(calls) == 2
    for _ in range(1000):
        may_end.release()
    it._run.session.resume()
    assert consumer.taken.acquire(timeout=PATIENCE)
    for _ in range(40):
        consumer.asked.release()
    consumer.join(PATIENCE)
    assert [int(batch[0]) for batch in consumer.received] == list(range(40))


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_paused_run_can_be_closed(pipeline, options):
    it = PIPELINES[pipeline]().with_options(options).iterator()
    consumer = Consumer(it)
    consumer.take()
    it._run.session.pause()
    consumer.asked.release()
    it.close()
    for _ in range(400):
        consumer.asked.release()
    consumer.join(PATIENCE)
    assert not consumer.is_alive()
    assert isinstance(consumer.failure, ClosedError)
    assert not it._run.session.controls.paused


def test_an_inline_run_gets_threads_when_workers_are_asked_for():
    it = Dataset.range(100).map(lambda x: x + 1, vectorized=False).batch(2).iterator()
    next(it)
    assert it.stats().mode == "inline"
    assert it._run.session.change_workers(3) is None
    assert [int(batch[0]) for batch in it] == list(range(3, 101, 2))
    assert it.stats().mode == "3 threads"
    assert any("3 threads" in decision for decision in it.stats().decisions)


def test_a_number_of_threads_that_was_asked_for_stays_in_later_epochs():
    ds = Dataset.range(100).map(lambda x: x + 1, vectorized=False).batch(2)
    ds = ds.with_options(Options(executor="threads"))
    it = ds.iterator()
    next(it)
    assert it._run.session.change_workers(5) is None
    assert len(list(it)) == 49
    assert it._run.session.threads.workers == 5
    again = ds.iterator()
    next(again)
    assert again._run.session.threads.workers == 5
    again.close()


@pytest.mark.parametrize("kind", ["inline", "executor", "isolated"])
def test_runs_whose_workers_are_not_ours_say_so(kind):
    ds = Dataset.range(100).map(str).batch(2)
    with ThreadPoolExecutor(1) as pool:
        options = {"inline": Options(executor="inline"), "executor": Options(executor=pool)}
        with ds.with_options(options.get(kind, Options(isolate=True))).iterator() as it:
            next(it)
            reason = it._run.session.change_workers(3)
            budget = it._run.session.change_budget(1000)
    assert {"inline": "inline", "executor": "was passed", "isolated": "other processes"}[kind] in reason
    assert (budget is None) == (kind != "isolated")


def test_a_smaller_budget_bounds_what_is_made_ahead_and_never_fails_the_run():
    ds = Dataset.range(200).map(lambda x: bytes(1000)).shuffle(50, seed=0).batch(2)
    it = ds.with_options(Options(executor="threads", workers=2, memory_budget=50_000_000)).iterator()
    next(it)
    assert it._run.session.change_budget(1) is None
    assert it.stats().budget == 1
    assert len(list(it)) == 99
    assert it.stats().short > 0


def test_a_forked_child_is_not_paused():
    controls = Controls()
    controls.pause()
    controls.after_fork()
    assert controls.waited() < 1e9 * PATIENCE
    assert not controls.paused


def test_a_pause_that_is_repeated_is_one():
    controls = Controls()
    controls.resume()
    controls.pause()
    controls.pause()
    assert controls.asked
    controls.resume()
    assert controls.waited() >= 0
    assert not controls.asked


def test_threads_wanted_are_those_asked_for_unless_paused():
    controls, tuners = Controls(), [Tuner(None), Tuner(None)]
    assert controls.threads_wanted([]) == 1
    assert controls.threads_wanted(tuners) == 1
    controls.change_workers(4)
    assert controls.threads_wanted(tuners) == 4
    controls.pause()
    assert controls.threads_wanted(tuners) == 0
    assert not controls.gated(lambda ready: True)([])
    controls.resume()
    assert controls.gated(lambda ready: True)([])


def test_positions_are_exact_after_a_pause():
    it = squares().iterator()
    taken = [next(it) for _ in range(3)]
    it._run.session.pause()
    state = it.state_dict()
    it._run.session.resume()
    again = squares().iterator()
    again.load_state_dict(state)
    assert as_lists([*taken, *again]) == as_lists([*taken, *it])
    assert ps.errors.ClosedError is ClosedError
