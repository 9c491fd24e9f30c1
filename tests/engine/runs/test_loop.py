"""The loop of a stage: how much it makes ahead, and in jobs of what size."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.engine.runs.feeds import RowFeed
from penstock.engine.runs.loop import Loop
from penstock.engine.runs.room import LOOKED_AT
from penstock.engine.runs.stage import Stage, Stretch
from penstock.engine.tasks.slots import Slots
from penstock.engine.tasks.task import NOTHING, Job, Task
from penstock.engine.tuning.hill_climb import HillClimb
from penstock.engine.tuning.tuner import LOOKS, Tuner
from penstock.plan.flow import Piece
from tests.engine.runs.sessions import INLINE, THREADS, scope_with


def one_item():
    task = Task(0, 1, Piece(NOTHING, np.arange(1)))
    job = Job(task, lambda count: count)
    job.set_tasks([task])
    return job


def loop_on_threads(scope):
    base = Dataset.range(99)._plan
    loop = Loop(Stage(Stretch(base, base), partial(RowFeed, base), scope), RowFeed(base, 0))
    loop._choose_workers()
    return loop


def test_a_stage_makes_as_much_ahead_as_its_tuner_allows():
    with scope_with(THREADS) as scope:
        loop = loop_on_threads(scope)
        for _ in range(loop._tuner.depth()):
            assert loop._room.next_job(loop._window) == 1
            loop._window.push(one_item())
        assert not loop._room.next_job(loop._window)


def test_the_awaited_one_of_alternating_stages_gets_idle_workers():
    with scope_with(THREADS) as scope:  # 9 tasks ahead, where one stage is alone
        scope.turns = 4
        loop, other = loop_on_threads(scope), scope.session.window()
        window = loop._window

        def room():
            return loop._room.next_job(loop._window)

        jobs = [one_item() for _ in range(20)]
        for job in jobs[:9]:
            assert room()  # no other stage is at work
            window.push(job)
        assert not room()
        for job in jobs[:3]:
            window.finish(job, 0, None)
        for _ in range(3):
            window.pop()
        assert room()
        for job in jobs[9:13]:
            other.push(job)
        assert not room()  # the workers have enough to do
        window.finish(jobs[3], 0, None)
        other.finish(jobs[9], 0, None)
        other.finish(jobs[10], 0, None)
        assert not room()  # nobody waits for it
        window.pop()
        assert room()


def test_alternating_stages_share_the_budget():
    with scope_with(Options(executor="threads", workers=4, memory_budget=1000)) as scope:
        scope.turns = 4
        loop = loop_on_threads(scope)
        loop._room.item_bytes, loop._room.calm = 1, 99
        for nbytes, has_room in ((248, True), (1, False)):  # an item of 1 byte reserves 2
            job = one_item()
            job.reserved = nbytes
            loop._window.push(job)
            assert bool(loop._room.next_job(loop._window)) is has_room


def test_no_item_is_made_ahead_until_the_size_of_the_first_is_known():
    with scope_with(Options(executor="threads", workers=4, memory_budget=1000)) as scope:
        loop = loop_on_threads(scope)
        assert loop._room.next_job(loop._window) == 1
        loop._window.push(one_item())
        assert not loop._room.next_job(loop._window)


def test_the_tuner_sets_the_rows_of_a_job():
    base = Dataset.range(100)._plan
    for options in (INLINE, THREADS):
        with scope_with(options) as scope:
            stage = Stage(Stretch(base, base), partial(RowFeed, base), scope)
            stage.tuner.group_items = lambda **beside: 7
            assert [len(piece) for piece in stage.open(0)] == [7] * 14 + [2]


def test_a_loop_that_ends_early_closes_its_feed_and_its_window():
    closed = []

    class Noting(RowFeed):
        def close(self):
            closed.append(True)

    base = Dataset.range(100)._plan
    with scope_with(THREADS) as scope:
        pieces = Loop(Stage(Stretch(base, base), partial(RowFeed, base), scope), Noting(base, 0)).pieces()
        next(pieces)
        assert scope.session.jobs_ahead
        pieces.close()
        assert closed == [True]
        assert not scope.session.jobs_ahead


@pytest.fixture
def looks(monkeypatch):
    """The numbers of batches whose sizes were looked at, one number for each look."""
    seen = []
    learn = Slots.learn

    def noting(self, chunk, slot=None):
        seen.append(len(chunk))
        learn(self, chunk, slot)

    monkeypatch.setattr(Slots, "learn", noting)
    return seen


def batches_of(count, **options):
    ds = Dataset.range(4 * count).map(lambda x: np.full(3, x)).batch(4).prefetch(1)  # one batch in each job
    return ds.with_options(Options(workers=1, executor="threads", **options))


def test_of_many_batches_a_sample_is_looked_at_for_their_sizes(looks):
    made = list(batches_of(160))
    assert [batch[0, 0] for batch in made] == list(range(0, 640, 4))
    assert looks == [1] * (LOOKS + 160 // LOOKED_AT)


def test_under_a_budget_every_batch_is_looked_at(looks):
    assert len(list(batches_of(160, memory_budget=1 << 20))) == 160
    assert looks == [1] * 160


@pytest.mark.parametrize("budget", [{}, {"memory_budget": 1 << 20}])
def test_batches_that_change_their_shape_between_looks_are_whole(budget):
    ds = Dataset.range(240).map(lambda x: np.full(1 + x // 20, x)).batch(4).with_options(Options(workers=2, **budget))
    assert [batch.tolist() for batch in ds] == [
        [[x] * (1 + low // 20) for x in range(low, low + 4)] for low in range(0, 240, 4)
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_threads_may_be_given_back_and_return_in_the_middle_of_a_run(monkeypatch, stream):
    """The looks of the climb are simulated: threads and none by turns, however the machine is loaded."""
    looks = count(1)

    def retuned(climb, now, used, waited):
        if next(looks) % 7:
            return None
        climb.threads = 0 if climb.threads else 2
        return climb.threads

    monkeypatch.setattr(HillClimb, "retuned", retuned)
    monkeypatch.setattr(Tuner, "threads_pay", lambda tuner: not tuner.looking)
    monkeypatch.setattr(Tuner, "group_items", lambda tuner, beside=False: 1)
    ds = Dataset.range(600)
    ds = ds.filter(lambda x: x % 3 != 1, vectorized=False) if stream else ds.map(lambda x: x, vectorized=False)
    with ds.batch(4).iterator() as it:
        modes, made = [], []
        for batch in it:
            made += batch.tolist()
            modes.append(it.stats().mode)
        found = it.tuning()
    assert made == [x for x in range(600) if not stream or x % 3 != 1]
    changes = [mode for at, mode in enumerate(modes) if at == 0 or mode != modes[at - 1]]
    assert {"inline", "2 threads"} <= set(changes)
    assert len(changes) > 3
    assert (found.executor, found.workers) in [("inline", 1), ("threads", 2)]
