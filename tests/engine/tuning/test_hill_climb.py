from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from penstock.engine.tasks.cost import Cost
from penstock.engine.tuning.hill_climb import AS_MUCH, MOST_WORKERS, WORTH, HillClimb, threads_for
from penstock.engine.tuning.look import Look
from penstock.engine.tuning.tuner import Tuner
from tests.engine.tuning.simulated import MS, US, Machine, Part

CORES = 2
DRAWN = random.Random(0)
FACTORS = [DRAWN.lognormvariate(0, 0.7) for _ in range(10_000)]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("penstock.engine.tuning.tuner.available_cores", lambda: float(CORES))


def computing(i):
    return [Part("hold", 100 * US), Part("run", MS)]


def computing_unevenly(i):
    return [Part("hold", 100 * US), Part("run", MS * FACTORS[i])]


def moving_memory(i):
    return [Part("hold", 50 * US), Part("move", 2 * MS)]


def holding_the_gil(i):
    return [Part("hold", 1.5 * MS)]


def sleeping(i):
    return [Part("wait", 10 * MS), Part("hold", 50 * US)]


def sleeping_unevenly(i):
    return [Part("wait", 10 * MS * FACTORS[i]), Part("hold", 50 * US)]


def sleeping_and_computing(i):
    return [Part("wait", 10 * MS), Part("hold", 50 * US), Part("run", 3 * MS)]


def reading(wait):
    """A task that reads and parses twenty times, and waits for the disk meanwhile."""
    part = [*([Part("wait", wait / 20)] if wait > MS else []), Part("hold", 20 * US), Part("run", 35 * US)]
    return part * 20


def reading_what_is_cold_at_first(i):
    return reading(9 * MS * math.exp(-i / 30))


def reading_what_stays_cold(i):
    return reading(9 * MS)


def sleeping_from_300_on(i):
    return [Part("hold", 50 * US), Part("run", MS), *([Part("wait", 20 * MS)] if i >= 300 else [])]


def waiting_for_a_lock(i):
    return [Part("hold", 200 * US), Part("lock", 5 * MS)]


def half_holding_half_sleeping(i):
    return [Part("hold", 2.5 * MS), Part("wait", 2.5 * MS)]


# The work, how many tasks, where the number of threads settles, the best number, and the least share of what that one
# makes of the same tasks in the same time, with the start and all attempts counted.
WORKLOADS = [
    pytest.param(computing, 1000, (2, 2), 2, 0.99, id="computing"),
    pytest.param(computing_unevenly, 1000, (2, 2), 2, 0.98, id="computing unevenly"),
    pytest.param(moving_memory, 600, (2, 2), 2, 0.98, id="moving memory"),
    pytest.param(holding_the_gil, 1000, (1, 1), 1, 0.97, id="holding the GIL"),
    pytest.param(sleeping, 6000, (64, 64), 64, 0.90, id="sleeping"),
    pytest.param(sleeping_unevenly, 4000, (48, 64), 64, 0.80, id="sleeping unevenly"),
    pytest.param(sleeping_and_computing, 1500, (8, 24), 20, 0.70, id="sleeping and computing"),
    pytest.param(reading_what_is_cold_at_first, 1500, (2, 4), 2, 1.0, id="reading what is cold at first"),
    pytest.param(reading_what_stays_cold, 2000, (12, 32), 16, 0.85, id="reading what stays cold"),
    pytest.param(waiting_for_a_lock, 300, (2, 2), 2, 0.98, id="waiting for a lock"),
    pytest.param(half_holding_half_sleeping, 1000, (2, 4), 2, 0.95, id="half holding, half sleeping"),
    pytest.param(sleeping_from_300_on, 6000, (40, 64), 64, 0.70, id="sleeping later"),
]


@pytest.mark.parametrize(("work", "count", "settles", "best", "share"), WORKLOADS)
def test_the_climb_settles_on_the_number_of_threads_with_the_highest_throughput(work, count, settles, best, share):
    tuner, machine = Tuner(None), Machine(work, CORES, bandwidth=1)
    took = machine.run(count, tuner)
    assert settles[0] <= tuner.threads <= settles[1], tuner.decisions
    took_best = Machine(work, CORES, bandwidth=1).run(count, threads=best)
    assert took_best / took >= share, tuner.decisions
    took_all = took_best if best == CORES else Machine(work, CORES, bandwidth=1).run(count, threads=CORES)
    assert took_all / took >= 0.97, tuner.decisions


@pytest.mark.parametrize(("work", "settles"), [(computing, (6, 16)), (holding_the_gil, (1, 1)), (sleeping, (64, 64))])
def test_the_climb_settles_on_many_cores_too(monkeypatch, work, settles):
    monkeypatch.setattr("penstock.engine.tuning.tuner.available_cores", lambda: 16.0)
    tuner, machine = Tuner(None), Machine(work, 16)
    took = machine.run(2000, tuner)
    assert settles[0] <= tuner.threads <= settles[1], tuner.decisions
    assert Machine(work, 16).run(2000, threads=16) / took >= 0.9, tuner.decisions


@pytest.mark.parametrize(
    "work", [holding_the_gil, half_holding_half_sleeping, sleeping_and_computing, waiting_for_a_lock]
)
def test_the_climb_stops_trying_other_numbers(work):
    machine = Machine(work, CORES)
    machine.run(8000, Tuner(None))
    changes = [at / machine.now for at, _ in machine.history]
    assert len(changes) <= 20
    assert sum(share > 0.5 for share in changes) <= 4  # two attempts in the second half of some 20 s


def one_in_40_sleeping_long(i):
    return [Part("wait", 200 * MS if i % 40 == 7 else 5 * MS), Part("hold", 50 * US)]


def test_one_slow_task_in_many_holds_no_worker_up():
    tuned = Machine(one_in_40_sleeping_long, CORES).run(1600, Tuner(8))
    assert tuned < 0.4 * Machine(one_in_40_sleeping_long, CORES).run(1600, threads=8)  # with two tasks a thread ahead


# A consumer whose step takes longer than its items


def every(ns):
    return lambda item: ns


@pytest.mark.parametrize(
    ("work", "step", "needed"),
    [(sleeping, 4 * MS, 4), (sleeping_unevenly, 4 * MS, 6), (computing, 4 * MS, 1), (waiting_for_a_lock, 20 * MS, 1)],
)
def test_threads_that_the_consumer_does_not_need_are_given_back(work, step, needed):
    tuner, machine = Tuner(None), Machine(work, CORES, step=every(step))
    took = machine.run(2000, tuner)
    assert tuner.threads <= needed, tuner.decisions
    assert took <= 1.02 * Machine(work, CORES, step=every(step)).run(2000, threads=64)
    assert len(machine.history) <= 6, tuner.decisions
    assert any("fast enough: the consumer waits for them for" in each for each in tuner.decisions)


def looked(climb, waits, until):
    """Let a climb look at tasks of 10 ms, one after another, of which the consumer waits for a part."""
    now = 0
    for _ in range(2000):
        if until():
            return
        climb.observe(Cost(10 * MS, 10 * MS), 1)
        climb.retuned(now, now, waits)
        now += 10 * MS
    raise AssertionError(climb.decisions)


def test_processes_that_the_consumer_does_not_need_are_given_back_and_return():
    tuner = Tuner(4, by_default=True)
    assert tuner.start_threads(in_processes=True) == 4
    climb = tuner.climb
    looked(climb, 0, lambda: climb.threads < 4)
    assert climb.decisions[-1].startswith("2 processes instead of 4: the consumer waits for them for 0.0 % of the time")
    looked(climb, 5 * MS, lambda: climb.threads > 2)
    assert (climb.threads, climb.spared) == (4, 0)
    assert climb.decisions[-1] == "4 processes again: with 2 the consumer waits for them for 50 % of the time"
    told = len(climb.decisions)
    for _ in range(500):  # no other number is tried
        climb.observe(Cost(10 * MS, 10 * MS), 1)
        climb.retuned(climb.clocks[0] + 10 * MS, climb.clocks[1], 10 * MS)
    assert (climb.threads, len(climb.decisions)) == (4, told)


def test_processes_that_were_asked_for_stay():
    tuner = Tuner(4)
    tuner.start_threads(in_processes=True)
    climb = tuner.climb
    for _ in range(500):
        climb.observe(Cost(10 * MS, 10 * MS), 1)
        climb.retuned(climb.clocks[0] + 10 * MS if climb.clocks else 0, 0, 0)
    assert climb.threads == 4
    assert climb.decisions[0] == "4 processes: as requested"


def test_threads_that_were_given_back_return_once_the_consumer_waits():
    tuner = Tuner(None)
    machine = Machine(sleeping, CORES, step=lambda item: 20 * MS if item < 300 else 0.0)
    machine.run(3000, tuner)
    numbers = [threads for _, threads in machine.history]
    assert numbers[:3] == [64, 1, 64], tuner.decisions
    assert tuner.threads == 64
    assert tuner.decisions[2].startswith("1 thread instead of 64: the consumer waits for them for 0.")
    assert tuner.decisions[3].startswith("64 threads again: with 1 the consumer waits for them for ")


def test_threads_are_given_back_ever_less_often_if_the_consumer_needs_them_later():
    tuner = Tuner(None)
    machine = Machine(sleeping, CORES, step=lambda item: 20 * MS if item // 100 % 2 else 0.0)
    machine.run(8000, tuner)
    given_back = [at / machine.now for at, threads in machine.history if threads == 1]
    assert 1 <= len(given_back) <= 6
    assert sum(share > 0.5 for share in given_back) <= 1


def test_a_fixed_number_of_threads_stays():
    for work in (holding_the_gil, sleeping):
        tuner, machine = Tuner(3), Machine(work, CORES)
        machine.run(1000, tuner)
        assert tuner.threads == 3
        assert len(machine.history) == 1
        assert tuner.holds_gil == (work is holding_the_gil)


def test_decisions_describe_the_findings():
    tuner = Tuner(None)
    Machine(holding_the_gil, CORES).run(300, tuner)
    assert tuner.holds_gil
    assert tuner.decisions[-1].startswith("1 thread instead of 2: they made 1.0")
    assert tuner.decisions[-1].endswith("times as much: the functions hold the GIL")
    tuner = Tuner(None)
    Machine(reading_what_is_cold_at_first, CORES).run(1500, tuner)
    assert tuner.decisions[-1].startswith("2 threads instead of ")
    tuner = Tuner(None)
    Machine(sleeping_and_computing, CORES).run(300, tuner)
    assert tuner.decisions[1].endswith(" threads stay: 4 made 0.32 times as much")


# One look after another, as they might be seen

LOOK = 50 * MS


def climb(threads=2, waiting=0.0, **known):
    return HillClimb(2.0, threads, 0.0, waiting, [], **known)


def look(climb, wall, cpu, *, rate=0.32, used=None, starved=0, yields=1, waited=1.0):
    """Let threads make `rate` tasks a ms, of so much wall and CPU time, for one look; what it decides."""
    if climb.clocks is None:
        climb.retuned(0, 0, 0)
    now, cpus = climb.clocks
    for _ in range(climb.look.settling):
        climb.observe(Cost(wall, cpu, starved, yields), 1)
    lasts = max(climb.look.lasts, math.ceil(max(4 * climb.threads, 16) / rate * MS))
    count = round(lasts * rate / MS)
    for _ in range(count):
        climb.observe(Cost(wall, cpu, starved, yields), 1)
    return climb.retuned(
        now + lasts, cpus + round(lasts * (count * cpu / lasts if used is None else used)), lasts * waited
    )


def test_more_threads_are_tried_if_tasks_wait_and_cores_are_idle():
    assert look(climb(), wall=5 * MS, cpu=MS) == 8  # they hardly use a core: four times as many at once
    assert look(climb(waiting=3.0), wall=5 * MS, cpu=4 * MS, rate=0.4) is None  # a fifth of their time is not worth it
    assert look(climb(waiting=3.0), wall=5 * MS, cpu=2 * MS, rate=0.4) == 4
    assert look(climb(waiting=3.0), wall=5 * MS, cpu=2 * MS, rate=0.4, used=2.0) is None  # somebody uses all cores
    assert look(climb(), wall=5 * MS, cpu=MS, starved=2 * MS) is None  # or other processes do
    assert look(climb(), wall=5 * MS, cpu=MS, waited=0.05) is None  # nobody waits for them


def test_more_threads_stay_if_throughput_grows():
    climbing = climb()
    assert look(climbing, wall=5 * MS, cpu=MS) == 8
    assert look(climbing, wall=5 * MS, cpu=MS, rate=0.32 * WORTH * 1.01) is None
    assert climbing.threads == 8
    assert climbing.decisions == ["8 threads instead of 2: they made 1.11 times as much"]


def test_more_threads_are_dropped_without_higher_throughput_and_tried_again_ever_later():
    climbing, tried = climb(), []
    for number in range(200):
        if look(climbing, wall=5 * MS, cpu=MS) == 8:
            tried.append(number)
            assert look(climbing, wall=5 * MS, cpu=MS) == 2
    gaps = [later - earlier for earlier, later in pairwise(tried)]
    assert gaps == [5, 17, 65]
    assert climbing.decisions[0] == "2 threads stay: 8 made 1.00 times as much"


def test_tasks_that_wait_for_each_other_get_fewer_threads():
    climbing = climb()
    assert look(climbing, wall=2 * MS, cpu=MS, rate=1.0) == 1
    assert look(climbing, wall=MS, cpu=MS, rate=AS_MUCH + 0.01) is None
    assert climbing.threads == 1
    assert climbing.holds_gil
    for unlike in ({"starved": MS // 2}, {"yields": 0}, {"waited": 0.05}):  # no core, a lost one, a slow consumer
        assert look(climb(), wall=2 * MS, cpu=MS, rate=1.0, **unlike) is None
    assert look(climb(waiting=1.0), wall=2 * MS, cpu=MS, rate=1.0) != 1  # it waits as long alone


def test_one_thread_with_lower_throughput_does_not_stay_even_if_the_gil_is_held():
    for makes, held in ((0.9, True), (0.5, False)):
        climbing = climb()
        assert look(climbing, wall=2 * MS, cpu=MS, rate=1.0) == 1
        assert look(climbing, wall=MS, cpu=MS, rate=makes) == 2
        assert climbing.holds_gil is held


CHEAP = {"wall": 400 * US, "cpu": 400 * US, "yields": 0}


def test_threads_are_given_back_if_the_consumer_s_thread_makes_as_much():
    for makes, stays in ((1.0, 0), (0.8, 2)):
        climbing = climb(pays_from=300 * US)
        assert look(climbing, **CHEAP, rate=4.0) == 0
        assert look(climbing, **CHEAP, rate=4.0 * makes) == (None if stays == 0 else 2)
        assert climbing.threads == stays
        none = "no threads instead of 2: they made 1.00 times as much"
        assert climbing.decisions == [none if stays == 0 else "2 threads stay: none made 0.80 times as much"]


def test_a_thread_is_given_back_if_the_consumer_waits_for_as_long_as_its_tasks_take():
    expensive = {"wall": 2 * MS, "cpu": 2 * MS, "yields": 0}
    assert look(climb(threads=1, pays_from=300 * US), **expensive, rate=0.45) == 0
    assert look(climb(threads=1, pays_from=300 * US), **expensive, rate=0.45, waited=0.5) is None
    assert look(climb(pays_from=300 * US), **expensive, rate=0.9) is None  # two at a time
    assert look(climb(threads=1, pays_from=300 * US, holds_gil=True), **expensive, rate=0.45) is None


def test_no_threads_are_tried_for_a_consumer_in_another_process_if_threads_wait_for_the_gil():
    holding = {"wall": 2 * MS, "cpu": MS, "rate": 1.0, "waited": 0.01}  # the thread that hands over waits for the GIL
    for makes, stays, held in ((1.3, 0, True), (0.9, 2, True), (0.5, 2, False)):
        climbing = climb(pays_from=300 * US, is_hosted=True, contention=0.9)
        assert look(climbing, **holding) == 0
        look(climbing, wall=MS, cpu=MS, rate=makes)
        assert (climbing.threads, climbing.holds_gil) == (stays, held)
    climbing = climb(threads=0, pays_from=300 * US, is_hosted=True, holds_gil=True)
    assert look(climbing, wall=MS, cpu=MS, rate=1.0) == 2
    assert look(climbing, **{**holding, "rate": 0.5}) == 0  # though hardly any wait for them is seen
    assert look(climb(pays_from=300 * US, is_hosted=True, contention=0.1), **holding) is None
    assert look(climb(pays_from=300 * US, contention=0.9), **holding) is None  # here its own step may hold the GIL
    assert look(climb(is_hosted=True, contention=0.9, fixed=True), **holding) is None


def test_nothing_is_judged_before_an_item_is_made():
    climbing = climb(pays_from=300 * US)
    assert look(climbing, **CHEAP, rate=4.0) == 0
    for _ in range(climbing.look.settling):
        climbing.observe(Cost(400 * US, 400 * US), 1)
    for now in range(3):
        assert climbing.retuned(now=10**12 * (now + 1), used=0, waited=10**12) is None
    assert climbing.threads == 0


def test_threads_that_were_given_back_are_tried_again_ever_later_if_items_cost_enough():
    for cost, gaps in ((400 * US, [5, 17, 65]), (200 * US, [])):
        climbing, tried = climb(threads=0, pays_from=300 * US), []
        for number in range(200):
            if look(climbing, wall=cost, cpu=cost, rate=2.0) == 2:
                tried.append(number)
                assert look(climbing, **CHEAP, rate=2.0) == 0
        assert [later - earlier for earlier, later in pairwise(tried)] == gaps
    climbing = climb(threads=0, pays_from=300 * US)
    assert look(climbing, **CHEAP, rate=2.0) == 2
    assert look(climbing, **CHEAP, rate=3.0) is None
    assert climbing.decisions == ["2 threads instead of none: they made 1.50 times as much"]


def test_threads_are_kept_where_the_consumer_s_thread_cannot_make_as_much():
    expensive, several = {**CHEAP, "wall": 700 * US, "cpu": 700 * US}, {"wall": 400 * US, "cpu": 30 * US}
    assert look(climb(pays_from=300 * US), **expensive, rate=2.8) is None
    assert look(climb(threads=8, waiting=9.0, pays_from=300 * US), **several, rate=18.0) != 0  # eight at a time
    assert look(climb(pays_from=300 * US, holds_gil=True), **CHEAP, rate=4.0) is None  # processes may help
    assert look(climb(), **CHEAP, rate=4.0) is None  # the run must have threads


def test_a_run_may_begin_with_an_attempt_at_no_threads():
    assert climb().without_threads([]) is None, "nothing was measured"
    for makes, stays in ((1.0, 0), (0.8, 2)):
        climbing = climb()
        look(climbing, **CHEAP, rate=4.0)
        told: list[str] = []
        heir = climbing.without_threads(told)
        assert (heir.threads, climbing.threads) == (0, 2)
        assert look(heir, **CHEAP, rate=4.0 * makes) == (None if stays == 0 else 2)
        assert (heir.threads, len(told)) == (stays, 1)
    assert climb(holds_gil=True, last=Look(made=1, passed=1)).without_threads([]) is None  # processes may take over


def test_threads_beyond_the_cores_need_higher_throughput_than_one_for_each_core():
    for makes, stays in ((1.0, 2), (0.5, 12)):
        climbing = climb(threads=12, waiting=5.0)
        assert look(climbing, wall=12 * MS, cpu=MS, rate=1.0, used=1.6) == 2
        assert look(climbing, wall=2 * MS, cpu=MS, rate=makes) == (None if stays == 2 else 12)
        assert climbing.threads == stays
    assert look(climb(threads=12, waiting=50.0), wall=12 * MS, cpu=MS // 10, rate=1.0) != 2  # nobody runs: all wait


def test_one_core_in_use_is_no_reason_for_fewer_threads_if_nobody_wants_the_gil():
    for contention, used, number in ((0.1, 0.9, 24), (0.4, 0.9, 2), (None, 0.9, 2), (0.1, 1.6, 2)):
        climbing = climb(threads=12, waiting=11.0, contention=contention)
        assert look(climbing, wall=12 * MS, cpu=MS, rate=1.0, used=used) == number


def test_half_the_threads_are_tried_first_where_more_than_cores_have_paid():
    crowded = {"wall": 12 * MS, "cpu": MS, "used": 2.0}
    for makes, numbers in ((0.5, [6, 12]), (1.0, [6, None, 2])):
        climbing = climb(threads=12, waiting=5.0)
        climbing.alone = 12 * MS  # as one thread for each core took for an item, before
        assert look(climbing, **crowded, rate=1.0) == numbers[0]
        assert look(climbing, **crowded, rate=makes) == numbers[1]
        if numbers[1] is None:
            assert look(climbing, **crowded, rate=makes) == numbers[2]
            assert look(climbing, wall=2 * MS, cpu=MS, rate=1.0) is None
            assert climbing.more.after_failure == 4 * climb().more.after_failure  # both were one attempt


def test_tasks_measured_while_they_had_the_gil_do_not_hide_that_others_wait_for_it():
    of_process = {"wall": 1.6 * MS, "cpu": 1.6 * MS, "yields": 0, "used": 1.0}  # two threads, and one core in use
    climbing = climb(contention=0.6)
    assert look(climbing, **of_process, rate=1.0) == 1
    assert look(climbing, wall=0.9 * MS, cpu=0.9 * MS, rate=1.1) is None
    assert climbing.holds_gil
    assert look(climb(contention=0.1), **of_process, rate=1.0) is None  # the others had no core


def test_other_work_that_only_waits_gets_its_threads_at_once():
    climbing = climb()
    assert look(climbing, wall=5 * MS, cpu=MS) == 8
    assert look(climbing, wall=5 * MS, cpu=MS) == 2
    assert look(climbing, wall=5 * MS, cpu=MS) is None  # not again so soon
    assert look(climbing, wall=20 * MS, cpu=MS // 2, rate=0.1) == MOST_WORKERS
    assert look(climbing, wall=20 * MS, cpu=MS // 2, rate=0.1) == 2  # no use
    assert [look(climbing, wall=20 * MS, cpu=MS // 2, rate=0.1) for _ in range(4)] == [None] * 4


@pytest.mark.parametrize(("cores", "threads"), [(0.5, 1), (1.0, 1), (1.5, 2)])
def test_parts_of_cores_are_rounded(cores, threads):
    climbing = HillClimb(cores, threads, 0.0, 0.0, [])
    for _ in range(20):
        assert look(climbing, wall=MS, cpu=MS, rate=float(threads)) is None
    assert climbing.decisions == []


def test_a_clear_result_is_judged_after_half_a_look():
    climbing = climb()
    assert look(climbing, wall=5 * MS, cpu=MS) == 8
    for _ in range(8 + 16):
        climbing.observe(Cost(20 * MS, MS, 0, 1), 1)
    now, used = climbing.clocks
    assert climbing.retuned(now + LOOK // 2, used, LOOK // 2) is None  # 0.64 a ms may be noise yet
    assert climbing.retuned(now + 4 * LOOK, used, LOOK) == 2  # 0.08 a ms is not


def test_looks_become_longer_while_nothing_changes():
    climbing, lasted = climb(), []
    for _ in range(4):
        lasted.append(climbing.look.lasts)
        look(climbing, wall=MS, cpu=MS, rate=2.0)
    assert lasted == [LOOK, 2 * LOOK, 4 * LOOK, 4 * LOOK]


def test_the_next_run_begins_with_the_number_that_this_one_settled_on_first_if_that_was_larger():
    crowded, alone = {"wall": 12 * MS, "cpu": MS, "used": 2.0}, {"wall": 2 * MS, "cpu": MS, "used": 2.0}
    for changed, begins in (({}, 64), ({"fixed": True}, 2), ({"spared": 1}, 2), ({"elsewhere": "left"}, 2)):
        climbing = climb(threads=64, waiting=50.0, contention=0.1)
        assert look(climbing, wall=64 * MS, cpu=MS, rate=1.0, used=0.9) is None
        assert look(climbing, **crowded, rate=1.0) == 2
        look(climbing, **alone, rate=1.5)
        assert climbing.threads == 2
        vars(climbing).update(changed)
        heir = climbing.heir([])
        assert heir.threads == begins
        assert heir.heir([]).threads == begins, "a run that is too short to settle changes nothing"
    climbing = climb(threads=2, waiting=50.0, settled_first=1)
    assert climbing.heir([]).threads == 2


def test_an_attempt_continues_in_the_next_run():
    climbing = climb()
    look(climbing, wall=5 * MS, cpu=MS)
    said: list[str] = []
    heir = climbing.heir(said)
    assert heir.threads == 8
    heir.retuned(10**12, 10**12, 0)  # whenever that begins
    assert look(heir, wall=5 * MS, cpu=MS) == 2
    assert said == ["2 threads stay: 8 made 1.00 times as much"]
    assert climbing.threads == 8
    assert climbing.decisions == []


def test_costs_of_another_run_are_not_added_to_this_one():
    climbing = climb()
    heir = climbing.heir([])
    heir.observe(Cost(5, 4), 1)
    assert (climbing.look.spent, heir.look.spent) == (Cost(0, 0), Cost(5, 4))


@pytest.mark.parametrize(("reads", "numbers"), [(1, [2, 2, None, None, None]), (0, [2, None, None, None, None])])
def test_the_next_run_tries_fewer_threads_at_once_but_not_every_run_if_data_was_read(reads, numbers):
    climbing, tried = climb(threads=12, waiting=5.0), []
    for _ in numbers:
        tried.append(look(climbing, wall=12 * MS, cpu=MS, rate=1.0, used=2.0))
        if tried[-1]:
            assert look(climbing, wall=2 * MS, cpu=MS, rate=0.5) == 12
        climbing.observe(Cost(MS, MS, reads=reads), 1)
        climbing = climbing.heir([])
    assert tried == numbers


def test_a_look_counts_tasks_begun_with_its_number_of_threads():
    climbing = climb()
    look(climbing, wall=5 * MS, cpu=MS)
    assert climbing.look.settling == 2  # each of the two had one in hand
    for _ in range(2):
        climbing.observe(Cost(MS, MS), 1)
    assert climbing.look.tasks == 0
    climbing.observe(Cost(MS, MS), 1)
    assert climbing.look.tasks == 1


def test_as_many_threads_as_keep_the_cores_busy():
    assert [threads_for(waiting, 2.0) for waiting in (0.0, 1.0, 3.5, 1000.0, math.inf)] == [
        2,
        4,
        9,
        *2 * [MOST_WORKERS],
    ]
    assert threads_for(0.0, 0.5) == 1
