"""When a stage would move to processes, and what keeps it in threads: decided on given figures, without a clock."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from penstock import Dataset
from penstock.engine.runs import moving
from penstock.engine.runs.moving import Mover, against, is_traced, worker_processes
from penstock.engine.tasks.cost import MS, Cost
from penstock.engine.tuning.hill_climb import CHANCES, HillClimb
from penstock.engine.tuning.look import Look

SECOND = 1000 * MS


def climb(**changes):
    made = HillClimb(2.0, 1, 10.0 * MS, 0.0, [])
    for name, value in ({"holds_gil": True} | changes).items():
        setattr(made, name, value)
    return made


def stage(most_cores=math.inf):
    return SimpleNamespace(session=None, scope=SimpleNamespace(settings=SimpleNamespace(most_cores=most_cores)))


def mover(found, processes=2):
    made = Mover(stage(), found)
    made._processes = processes
    return made


@pytest.mark.parametrize(
    ("found", "left", "processes", "pays"),
    [
        (climb(), 1000, 2, True),  # 10 s are left, of which two processes save 5
        (climb(), 100, 2, False),
        (climb(), 300, 2, False),
        (climb(), 300, 8, True),
        (climb(), math.inf, 2, True),
        (climb(), 1000, 1, False),
        (climb(passed=10 * SECOND), 1, 2, True),  # short epochs, of which there were many
        (climb(holds_gil=False), 1000, 2, False),
        (climb(holds_gil=False, one_thread=True), 1000, 2, True),
        (climb(alone=0.0), 1000, 2, False),
    ],
)
def test_a_move_must_save_more_than_it_costs(found, left, processes, pays):
    assert mover(found, processes).pays(left) is pays


def test_no_more_processes_are_started_than_cores_are_allowed(monkeypatch):
    monkeypatch.setattr(moving, "worker_processes", lambda: 8)
    assert Mover(stage(3), climb()).pays(1000)
    assert not Mover(stage(1), climb()).pays(1000)


def test_a_stage_that_calls_no_function_stays_without_a_word():
    staying = stage()
    staying.work = SimpleNamespace(plan=Dataset.range(9).shuffle().batch(3)._plan)
    made = Mover(staying, climb())
    assert made.look(None, 10_000, 0) is None
    assert made.has_ended


def judged(found, rate):
    """Let a hill climb look at `rate` items per 10 ms until it has judged; return the looks that were lost."""
    now = 0
    while found.elsewhere == "tried":
        found.observe(Cost(10 * MS, 10 * MS), rate)
        found.retuned(now, now, 9 * MS)
        now += 10 * MS
    return found.lost


def test_processes_that_make_more_stay():
    found = climb()
    found.try_elsewhere(2, under_way=3)
    assert (found.threads, found.holds_gil, found.elsewhere) == (2, False, "tried")
    assert judged(found, rate=1.9) == 0
    assert (found.threads, found.elsewhere) == (2, "stays")
    assert found.decisions[-1].startswith("2 processes instead of 1 thread: they made 1.")
    assert found.heir([]).elsewhere == "stays"


def test_processes_that_make_no_more_have_some_chances():
    found = climb()
    found.try_elsewhere(2, under_way=3)
    assert judged(found, rate=0.8) == CHANCES
    assert found.elsewhere == "worse"
    assert found.decisions[-1].startswith("1 thread again: 2 processes made 0.8")
    found.come_back()
    assert (found.threads, found.elsewhere, found.attempt) == (1, "left", None)
    assert mover(found).has_ended


def test_tasks_that_threads_still_make_do_not_count():
    found = climb()
    found.try_elsewhere(2, under_way=3)
    for _ in range(7):
        found.observe(Cost(MS, MS), 1)
    assert found.look == Look(0, found.look.lasts)


@pytest.fixture
def lenient():
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


@pytest.mark.usefixtures("lenient")
def test_nothing_is_against_a_move_in_a_plain_process():
    assert against(2, None) is None
    assert against(2, 1 << 30) is None


@pytest.mark.usefixtures("lenient")
def test_the_surroundings_may_be_against_it(monkeypatch):
    assert "memory_budget=67,108,864" in against(2, 1 << 26)
    monkeypatch.setattr(moving, "serves_another_process", lambda: True)
    assert "was itself started" in against(2, None)
    monkeypatch.undo()
    monkeypatch.setattr(moving, "torch_worker", object)
    assert "was itself started" in against(2, None)
    monkeypatch.undo()
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "frozen" in against(2, None)
    monkeypatch.undo()
    monkeypatch.setattr(moving, "RECURSION", 900)
    assert "limits of the interpreter" in against(2, None)
    monkeypatch.undo()
    with np.printoptions(precision=3):
        assert "NumPy prints" in against(2, None)
    warnings.simplefilter("error")
    assert "warnings are errors" in against(2, None)


@pytest.mark.usefixtures("lenient")
def test_a_process_of_multiprocessing_stays():
    program = (
        "import multiprocessing as m\n"
        "from penstock.engine.runs.moving import against\n"
        "def told(queue): queue.put(against(2, None))\n"
        "if __name__ == '__main__':\n"
        "    c = m.get_context('fork'); q = c.SimpleQueue(); p = c.Process(target=told, args=(q,))\n"
        "    p.start(); print(against(2, None), '|', q.get()); p.join()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "None | this process was itself started to share the work\n"


@pytest.mark.parametrize("watch", [sys.settrace, sys.setprofile, threading.settrace, threading.setprofile])
def test_watched_code_stays(watch):
    watch(lambda *told: None)
    try:
        assert is_traced()
    finally:
        watch(None)


def test_ranks_share_the_cores(monkeypatch):
    monkeypatch.setattr(moving, "available_cores", lambda: 8.0)
    assert worker_processes() == 8
    monkeypatch.setattr(moving, "joined_ranks", lambda: SimpleNamespace(world=4))
    assert worker_processes() == 2
