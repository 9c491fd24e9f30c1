"""Runs that move from threads to worker processes while they are under way."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
from itertools import islice

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import WorkerDiedError
from penstock.engine.runs import moving
from penstock.engine.workers.processes import plans
from penstock.engine.workers.processes.workers import CHANGED
from penstock.plan import safety
from penstock.plan.safety.reads import Reads
from penstock.testing.laws import same, verify_resume
from tests.moves import move_at_once

D = ps.Dataset
INLINE = ps.Options(executor="inline", seed=3)
SEEN = []
TABLE = [1] * 10


@pytest.fixture
def moves(monkeypatch):
    move_at_once(monkeypatch)


@pytest.fixture
def moves_anything(monkeypatch, moves):
    """Take all functions to be pure, to see where they are called and what cannot travel."""
    monkeypatch.setattr(safety.moving, "reads_of", lambda nodes: Reads())


def square(x):
    return x * x


def by_table(x):
    return TABLE[int(x) % len(TABLE)] * int(x)


def pid(x):
    return os.getpid() + 0 * x


def careless(x):
    SEEN.append(int(x))
    return x


def fails_at_37(x):
    if x == 37:
        raise ArithmeticError("no")
    return x


PIPELINES = {
    "elements": D.range(60).map(square, vectorized=False),
    "batches": D.range(200).shuffle().map(lambda x: {"x": np.full(999, x), "y": int(x)}).batch(8),
    "objects": D.range(40).map(lambda x: {"text": str(x), "rows": np.arange(x)}),
    "random": D.range(60).map(lambda x, *, rng: x + rng.random()).batch(4),
    "a stream": D.range(90).filter(lambda x: x % 3 == 0).map(lambda x: np.full(2000, x)).batch(4),
    "two stages": D.range(90).map(square, vectorized=False).scan(0, lambda s, x: (s + x, s)).map(lambda x: x + 1),
    "not safe for threads": D.range(90).map(square, vectorized=False, thread_safe=False).batch(4),
    "a generator": D.from_generator(lambda: iter(range(40))).map(square, vectorized=False),
}


@pytest.mark.usefixtures("moves")
@pytest.mark.parametrize("ds", PIPELINES.values(), ids=PIPELINES.keys())
def test_elements_and_states_are_those_of_an_inline_run(ds):
    ds = ds.with_options(ps.Options(seed=3))
    it, expected = ds.iterator(epoch=1), ds.with_options(INLINE).iterator(epoch=1)
    for element, other in zip(it, expected, strict=True):
        assert same(element, other)
        if ds._plan.indexed:  # marks of streams depend on how many elements came together
            assert it.state_dict() == expected.state_dict()
    assert "moved" in [event.kind for event in it.stats().events]
    assert it.stats().mode == "2 processes"


@pytest.mark.usefixtures("moves_anything")
def test_processes_make_what_comes_after_the_move():
    made = list(D.range(60).map(pid, vectorized=False))
    others = [each for each in made if each != os.getpid()]
    assert made[0] == os.getpid()
    assert made[-len(others) :] == others
    assert len(others) > 30


@pytest.mark.usefixtures("moves")
def test_a_restore_before_at_and_after_the_move_continues_exactly():
    verify_resume(D.range(200).shuffle(seed=1).map(square, vectorized=False).batch(8), options=ps.Options())
    verify_resume(D.range(90).filter(lambda x: x % 3 == 0).map(square, vectorized=False), options=ps.Options())


@pytest.mark.usefixtures("moves")
def test_a_state_is_loaded_into_a_run_inline_and_back():
    ds = D.range(200).shuffle(seed=1).map(square, vectorized=False).batch(4)
    it = ds.iterator()
    received = list(islice(it, 20))
    state = json.loads(json.dumps(it.state_dict()))
    expected = list(ds.with_options(INLINE).iterator())
    for options in (INLINE, ps.Options()):
        again = ds.with_options(options).iterator()
        again.load_state_dict(state)
        assert same(received + list(again), expected)


@pytest.mark.usefixtures("moves")
def test_an_error_after_the_move_keeps_its_type_and_names_its_row():
    it = D.range(90).map(fails_at_37).iterator()
    assert list(islice(it, 37)) == list(range(37))
    with pytest.raises(ArithmeticError, match="no") as raised:
        next(it)
    assert "ds[37]" in "\n".join(raised.value.__notes__)
    assert it.stats().mode == "2 processes"


@pytest.mark.usefixtures("moves")
def test_a_worker_killed_after_the_move_changes_nothing(pool):
    it = D.range(300).map(square, vectorized=False).batch(4).iterator()
    received = list(islice(it, 20))
    for each in pool.crew.pids:
        os.kill(each, signal.SIGKILL)
    received += list(it)
    assert np.array_equal(np.concatenate(received), np.arange(300) ** 2)
    assert it.stats().mode == "2 processes"


@pytest.mark.usefixtures("moves")
def test_later_epochs_begin_in_the_same_processes():
    ds = D.range(60).map(square, vectorized=False).batch(4)
    it = ds.iterator()
    first = list(it)
    crew = it._run.session._outside.in_processes[0]._crew
    again = ds.iterator(epoch=1)
    assert same(list(again), first)
    assert again._run.session._outside.in_processes[0]._crew is crew
    assert again._run.session._outside.in_processes[0].plan is it._run.session._outside.in_processes[0].plan
    assert [event.kind for event in again.stats().events] == ["moved"]


@pytest.mark.usefixtures("moves_anything")
def test_later_epochs_make_nothing_here():
    ds = D.range(60).map(pid, vectorized=False)
    assert os.getpid() in list(ds)
    assert os.getpid() not in list(ds.iterator(epoch=1))


@pytest.mark.usefixtures("moves")
def test_no_cycle_keeps_the_processes(monkeypatch):
    monkeypatch.setattr(moving, "worker_processes", lambda: 3)
    ds = D.range(60).map(square, vectorized=False)
    it = ds.iterator()
    list(it)
    crew = it._run._carry_over.workers._pool.crew
    gc.collect()
    gc.disable()
    try:
        del it, ds
        crew._thread.join(60)
        assert not crew._thread.is_alive()
    finally:
        gc.enable()


@pytest.mark.usefixtures("moves")
def test_an_epoch_after_a_change_sees_the_change(monkeypatch):
    ds = D.range(60).map(by_table)
    assert list(ds) == list(range(60))
    monkeypatch.setitem(globals(), "TABLE", [2] * 10)
    it = ds.iterator(epoch=1)
    assert list(it) == list(range(0, 120, 2))
    assert it.stats().mode == "2 processes"


@pytest.mark.usefixtures("moves")
def test_a_change_while_the_run_is_under_way_brings_it_back(monkeypatch):
    monkeypatch.setitem(globals(), "TABLE", [1] * 10)
    it = D.range(400).map(by_table).prefetch(4).iterator()
    assert list(islice(it, 100)) == list(range(100))
    assert it.stats().mode == "2 processes"
    TABLE[:] = [3] * 10
    rest = list(it)
    assert rest[-200:] == [3 * x for x in range(200, 400)]
    assert it.stats().events[-1].words.endswith(CHANGED)
    assert "thread" in it.stats().mode


@pytest.mark.usefixtures("moves")
def test_a_careless_function_stays_and_the_reason_is_told():
    SEEN.clear()
    it = D.range(60).map(careless).iterator()
    assert list(it) == list(range(60))
    assert sorted(SEEN) == list(range(60))
    (event,) = it.stats().events
    assert event.kind == "stayed"
    assert event.words == (
        'processes would help, with Options(executor="processes"): the functions of map(careless) hold the GIL, '
        'and Options(executor="auto") leaves them in threads because map(careless) may change `SEEN` by `append`'
    )
    assert event.words in it.verdict()


@pytest.mark.usefixtures("moves_anything")
def test_a_plan_that_cannot_be_pickled_stays():
    lock = threading.Lock()
    it = D.range(60).map(lambda x: (lock.locked(), int(x))[1]).iterator()
    assert list(it) == list(range(60))
    (event,) = it.stats().events
    assert "it cannot be pickled: TypeError" in event.words


class OnlyHere:
    """An object that no other process can load."""

    def __init__(self, home):
        self.home = home
        if os.getpid() != home:
            raise ImportError("not at home")

    def __reduce__(self):
        return OnlyHere, (self.home,)

    def __call__(self, x):
        return x


@pytest.mark.usefixtures("moves_anything")
@pytest.mark.parametrize("batches", [False, True])
def test_a_plan_that_no_worker_can_load_comes_back(batches):
    ds = D.range(200).map(OnlyHere(os.getpid()))
    it = (ds.batch(4) if batches else ds).iterator()
    assert np.array_equal(np.ravel(list(it)), np.arange(200))
    moved, back = it.stats().events
    assert moved.kind == "moved"
    assert "not at home" in back.words
    assert "thread" in it.stats().mode


@pytest.mark.usefixtures("moves_anything")
def test_a_failure_that_only_workers_meet_brings_the_run_back():
    home = os.getpid()

    def fails_elsewhere(x):
        if x == 90 and os.getpid() != home:
            raise FileNotFoundError("no such file there")
        return x

    it = D.range(200).map(fails_elsewhere).prefetch(4).iterator()
    assert list(it) == list(range(200))
    back = it.stats().events[-1]
    assert back.words.endswith("a worker failed, unlike this process: FileNotFoundError: no such file there")
    assert "thread" in it.stats().mode


@pytest.mark.usefixtures("moves")
def test_a_large_plan_stays(monkeypatch):
    monkeypatch.setattr(plans, "LARGEST_MOVED", 100)
    it = D.range(60).map(square, vectorized=False).iterator()
    assert list(it) == [x * x for x in range(60)]
    assert "which would be held twice" in it.stats().events[0].words


@pytest.mark.usefixtures("moves_anything")
def test_elements_that_cannot_be_sent_come_from_threads():
    it = D.range(60).map(lambda x: threading.Lock() if x == 30 else x).iterator()
    made = list(it)
    assert made[:30] + made[31:] == [*range(30), *range(31, 60)]
    assert isinstance(made[30], type(threading.Lock()))
    assert "cannot pickle" in it.stats().events[-1].words


@pytest.mark.usefixtures("moves_anything")
def test_what_ends_workers_never_runs_here():
    home = os.getpid()

    def ends_workers(x):
        if x == 90 and os.getpid() != home:
            os.kill(os.getpid(), signal.SIGSEGV)
        return x

    it = D.range(200).map(ends_workers).iterator()
    received = []
    with pytest.raises(WorkerDiedError, match="90"):
        received.extend(each for each in it)
    assert received == list(range(90))


def test_an_epoch_that_ends_before_workers_are_ready_is_made_by_threads(monkeypatch):
    move_at_once(monkeypatch, waits=False)
    monkeypatch.setattr(moving.processes.workers.MovedWorkers, "ready", False)
    it = D.range(60).map(square, vectorized=False).batch(4).iterator()
    assert np.array_equal(np.concatenate(list(it)), np.arange(60) ** 2)
    assert not it.stats().events
    assert "thread" in it.stats().mode


def test_a_run_closed_while_workers_start_leaves_none(monkeypatch):
    move_at_once(monkeypatch, waits=False, processes=3)  # a pool that no other test has
    ds = D.range(600).map(square, vectorized=False).batch(4)
    it = ds.iterator()
    next(it), next(it)
    crew = it._run._carry_over.workers._pool.crew
    it.close()
    del it, ds
    gc.collect()
    crew._thread.join(60)
    assert not crew._thread.is_alive()
    assert not crew._members


def test_processes_that_cannot_start_leave_the_run_in_threads(monkeypatch):
    move_at_once(monkeypatch, processes=3)

    def no_process(setup, arena):
        raise OSError("no process left")

    monkeypatch.setattr("penstock.engine.workers.processes.crew.started", no_process)
    ds = D.range(60).map(square, vectorized=False).batch(4)
    it = ds.iterator()
    assert np.array_equal(np.concatenate(list(it)), np.arange(60) ** 2)
    (event,) = it.stats().events
    assert event.kind == "stayed"
    assert "no process left" in event.words
    again = ds.iterator(epoch=1)  # which does not try again
    assert len(list(again)) == 15
    assert not again.stats().events


def test_processes_that_make_less_give_way_to_threads(monkeypatch):
    move_at_once(monkeypatch)
    it = D.range(400).map(square, vectorized=False).batch(4).prefetch(4).iterator()
    received = list(islice(it, 20))
    it._run.tuner.climb.elsewhere = "worse"
    received += list(it)
    assert np.array_equal(np.concatenate(received), np.arange(400) ** 2)
    assert it.stats().events[-1].words.endswith("processes do not make more")
    assert "thread" in it.stats().mode
