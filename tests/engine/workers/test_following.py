"""What a run tells an executor whose workers come and go, and what it makes of them, by a clock of the test."""

from __future__ import annotations

from concurrent.futures import Executor, Future

import pytest

import penstock as ps
from penstock.engine.tasks.cost import Cost
from penstock.engine.workers.following import HEADROOM, LOOKED_EVERY, MOST_NEEDED, Following
from penstock.executors.protocol import Elastic
from tests.engine.runs.sessions import session_with

SECOND = 1_000_000_000


class Growing(Executor):
    """Runs calls at once, and notes what it is told."""

    def __init__(self):
        self.workers = 2
        self.told = []

    def submit(self, fn, /, *args, **kwargs):
        future = Future()
        future.set_result(fn(*args, **kwargs))
        return future

    def scale(self, run, workers):
        self.told.append(workers)


class Clock:
    def __init__(self):
        self.now = SECOND

    def __call__(self):
        return self.now

    def passes(self, seconds):
        self.now += round(seconds * SECOND)


@pytest.fixture
def executor():
    return Growing()


@pytest.fixture
def session(executor):
    with session_with(ps.Options(executor=executor)) as made:
        yield made


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def following(session, executor, clock):
    made = Following(executor, session.spent, session.follow, clock)
    session.at_close(made.end)
    return made


def step(following, session, clock, *, work, step, wait=0.0):
    """Receive an item that took `work` seconds of workers and `wait` of the consumer, and use it."""

    def items():
        session.spent += Cost(round(work * SECOND), 0)
        clock.passes(wait)

    following.around(items)
    clock.passes(step)


def test_the_need_is_the_work_of_the_items_over_the_steps_with_them(following, session, executor, clock):
    assert isinstance(executor, Elastic)
    for _ in range(20):
        step(following, session, clock, work=2.0, step=0.25, wait=3.0)
    assert set(executor.told[1:]) == {round(HEADROOM * 8)} or set(executor.told[1:]) == {round(HEADROOM * 8 + 0.5)}


def test_a_consumer_that_never_stops_asks_for_a_bounded_number(following, session, executor, clock):
    for _ in range(20):
        step(following, session, clock, work=2.0, step=1e-9, wait=1.0)
    assert executor.told
    assert max(executor.told) == MOST_NEEDED


def test_looks_are_a_second_apart(following, session, executor, clock):
    for _ in range(1000):
        step(following, session, clock, work=0.01, step=0.01)
    assert len(executor.told) <= 1000 * 0.01 * SECOND / LOOKED_EVERY + 1


def test_the_run_goes_on_with_the_workers_that_there_are(following, session, executor, clock):
    tuner = session.scope().tuner()
    tuner.start_threads()
    executor.workers = 6
    step(following, session, clock, work=1.0, step=2.0)
    assert tuner.threads == 6
    assert tuner.decisions[-1] == "6 threads: as many as the executor has now"
    assert session.settings.workers == 6


def test_the_end_of_a_run_gives_everything_back(executor):
    with ps.Dataset.range(8).map(abs).with_options(ps.Options(executor=executor)).iterator() as it:
        next(it)
        assert 0 not in executor.told
    assert executor.told[-1] == 0


def test_a_run_that_fails_gives_everything_back(executor):
    ds = ps.Dataset.range(8).map(lambda x: 1 // (x - 3)).with_options(ps.Options(executor=executor))
    with pytest.raises(ZeroDivisionError):
        list(ds)
    assert executor.told[-1] == 0


def test_a_run_that_has_ended_asks_for_nothing(following, session, executor, clock):
    session.close()
    for _ in range(5):
        step(following, session, clock, work=2.0, step=0.5)
    assert executor.told == [0]


def test_a_number_of_workers_in_the_options_is_kept(executor):
    options = ps.Options(executor=executor, workers=3)
    with ps.Dataset.range(8).map(abs).with_options(options).iterator() as it:
        executor.workers = 9
        assert len(list(it)) == 8
        assert it.stats().workers == 3
    assert executor.told == []


def test_a_later_pass_has_the_workers_of_its_time(executor):
    ds = ps.Dataset.range(50).map(abs).with_options(ps.Options(executor=executor))
    assert len(list(ds)) == 50
    executor.workers = 5
    it = ds.iterator()
    assert len(list(it)) == 50
    assert it.stats().workers == 5


def test_an_executor_that_cannot_tell_its_workers_loses_no_items(executor):
    ds = ps.Dataset.range(40).batch(4)
    it = ds.with_options(ps.Options(executor=executor)).iterator()
    received = [next(it).tolist() for _ in range(3)]
    it._run._following._due = 0
    del executor.workers
    with pytest.raises(AttributeError, match="workers"):
        received.extend(batch.tolist() for batch in it)
    rest = ds.iterator()
    rest.load_state_dict(it.state_dict())
    assert [*received, *(batch.tolist() for batch in rest)] == [list(range(low, low + 4)) for low in range(0, 40, 4)]
