from __future__ import annotations

import math

import pytest

from penstock.engine.tasks.cost import Cost
from penstock.engine.tuning.hill_climb import MOST_WORKERS, Attempt
from penstock.engine.tuning.long_tasks import HELD_UP_BYTES
from penstock.engine.tuning.look import Look
from penstock.engine.tuning.tuner import (
    BESIDE_ROWS,
    FAR_PIECE,
    INLINE_BYTES,
    INLINE_TASK,
    LONGEST_PIECE,
    LOOKS,
    MOST_GROUPED,
    MS,
    RECENT_TASKS,
    SETTLED,
    SPARE,
    SPARE_BYTES,
    SURELY_PAYS,
    THREAD_PAYS,
    Tuner,
)


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr("penstock.engine.tuning.tuner.available_cores", lambda: 2.0)


def looked(item, cpu=None, workers=None, looks=LOOKS, yields=1):
    tuner = Tuner(workers)
    for _ in range(looks):
        tuner.observe(Cost(item, item if cpu is None else cpu, 0, yields), 1)
    return tuner


def test_threads_pay_only_for_items_that_cost_more_than_a_hand_over():
    assert not Tuner(None).threads_pay()
    assert not looked(20_000, looks=100).threads_pay()
    assert looked(2 * THREAD_PAYS).threads_pay()
    assert not looked(2 * THREAD_PAYS, looks=LOOKS - 1).threads_pay()
    assert looked(THREAD_PAYS, looks=RECENT_TASKS).threads_pay()
    assert not looked(THREAD_PAYS, looks=RECENT_TASKS - 1).threads_pay()  # the first touch new memory
    assert looked(SURELY_PAYS, looks=2).threads_pay()
    assert not looked(SURELY_PAYS, looks=1).threads_pay()  # the first has files to open and memory to touch


def test_as_many_threads_as_keep_the_cores_busy():
    assert looked(MS).start_threads() == 2
    assert looked(4 * MS, cpu=MS).start_threads() == 8  # three quarters of its time it waits
    assert looked(1000 * MS, cpu=1000).start_threads() == MOST_WORKERS
    assert looked(4 * MS, cpu=MS, workers=3).start_threads() == 3
    assert Tuner(None).start_threads() == 2


def test_time_that_a_virtual_machine_lost_is_not_waiting():
    assert looked(4 * MS, cpu=MS, yields=0).start_threads() == 2  # nobody gave up a core, and yet it was gone


def test_decisions_give_the_reason_for_the_number_of_threads():
    tuner = looked(4 * MS, cpu=MS)
    tuner.start_threads()
    assert tuner.decisions[0].startswith("8 threads: 2 cores × 4.0")
    assert "4.00 ms" in tuner.decisions[0]


def test_groups_double_up_to_a_share_of_work_and_of_bytes():
    tuner = looked(10_000)
    groups = [tuner.group_items() for _ in range(20)]
    assert groups[:4] == [2, 4, 8, 16]
    assert groups[-1] == 128  # the power of two below what the bound on work allows
    assert 128 <= INLINE_TASK // 10_000 < 256
    tuner.item_bytes = INLINE_BYTES // 4
    assert tuner.group_items() == 4
    tuner.item_bytes = 10 * INLINE_BYTES
    assert tuner.group_items() == 1
    tiny = looked(1)
    assert max(tiny.group_items() for _ in range(20)) == MOST_GROUPED
    assert looked(10 * MS).group_items() == 1
    assert Tuner(None).group_items() == 1


def test_a_group_of_nearly_the_right_size_stays():
    tuner = Tuner(2)
    tuner.start_threads()
    groups = []
    for wall in [0.9 * MS] * 50 + [1.1 * MS, 3.1 * MS] * 50:
        tuner.observe(Cost(wall, wall), 1)
        groups.append(tuner.group_items())
    assert set(groups[10:]) == {2}  # though two of them take 4.2 ms at last
    for _ in range(50):
        tuner.observe(Cost(5 * MS, 5 * MS), 1)
        tuner.group_items()
    assert tuner.group == 1


@pytest.mark.parametrize("looks", [LOOKS, SETTLED])
def test_a_group_doubles_whenever_twice_as_many_fit(looks):
    tuner = looked(INLINE_TASK, looks=looks)
    for share, group in ((1, 1), (0.9, 2), (0.6, 2), (0.3, 4), (0.7, 4), (0.8, 2)):
        tuner.item_mean = share * INLINE_TASK
        assert tuner.group_items() == group


def test_a_group_grows_as_long_as_items_cost_less_in_larger_ones():
    tuner = Tuner(None)
    for _ in range(2 * SETTLED):  # a first task opens what others only read
        tuner.observe(Cost(5 * MS, 5 * MS), 1)
    assert tuner.group_items() == 1
    for _ in range(4 * SETTLED):
        group = tuner.group_items()
        wall = MS + group * MS // 10
        tuner.observe(Cost(wall, wall), group)
    assert group == 4


def test_a_group_for_the_native_thread_has_its_largest_size_at_once():
    tuner = looked(1_000)
    tuner.item_bytes, tuner.item_rows = INLINE_BYTES // 16, BESIDE_ROWS // 32
    for _ in range(10):
        tuner.group_items()
    for looks in (LOOKS, SETTLED, 2 * SETTLED):  # each epoch has a first group that is made here
        tuner.looks = looks
        groups = tuner.group_items(), tuner.group_items(beside=True)
        assert groups == (16, 32)


def test_a_group_that_takes_too_many_bytes_is_halved_at_once():
    tuner = looked(1_000)
    largest = max(tuner.group_items() for _ in range(20))
    tuner.item_bytes = INLINE_BYTES // (largest // 2)
    assert tuner.group_items() == largest // 2


def test_an_expensive_batch_is_split_over_the_workers():
    tuner = looked(100 * MS, workers=4)
    tuner.start_threads()
    assert tuner.split_item() == 4
    short = looked(LONGEST_PIECE - 1, workers=4)
    short.start_threads()
    assert short.split_item() == 1


def test_a_batch_made_far_away_is_split_only_if_it_takes_long_or_few_fit():
    tuner = looked(100 * MS, workers=4)
    tuner.is_far = True
    tuner.start_threads()
    assert [tuner.split_item(fitting) for fitting in (math.inf, 9, 3, 1)] == [1, 1, 3, 4]
    long = looked(2 * FAR_PIECE, workers=4)
    long.is_far = True
    long.start_threads()
    assert long.split_item() == 2


def test_tasks_of_cheap_items_are_longer_far_away():
    near, far = looked(MS // 10, workers=4), looked(MS // 10, workers=4)
    far.is_far = True
    assert max(near.group_items() for _ in range(20)) < max(far.group_items() for _ in range(20)) == 256


def test_one_outlier_does_not_change_the_measure():
    tuner = looked(1_000, looks=20)
    tuner.observe(Cost(100 * MS, 100 * MS), 1)
    assert tuner.item_wall < 2_000


def test_the_wait_of_the_first_task_does_not_count_for_the_others():
    tuner = Tuner(None)
    tuner.observe(Cost(20 * MS, MS, 0, 1), 1)
    for _ in range(LOOKS - 1):
        tuner.observe(Cost(MS, MS), 1)
    assert tuner.start_threads() == 2


def uneven(walls, item_bytes=0):
    tuner = Tuner(4)
    tuner.start_threads()
    for _ in range(100):
        for wall in walls:
            tuner.observe(Cost(wall, wall), 1)
    tuner.item_bytes = item_bytes
    return tuner


def test_the_window_is_deep_enough_for_every_worker():
    assert uneven([]).depth() == uneven([MS]).depth() == 2 * 4 + 1


def test_the_window_covers_tasks_that_take_longer_than_others_if_they_are_small():
    assert uneven([MS, 3 * MS]).depth() == 4 * 4 + 1
    assert uneven([MS, 1.1 * MS]).depth() == 9  # this is even enough
    assert uneven([MS, 3 * MS], item_bytes=SPARE_BYTES // 3).depth() == 9 + 3
    assert uneven([MS, 3 * MS], item_bytes=SPARE_BYTES + 1).depth() == 9


def test_small_tasks_are_started_several_at_a_time():
    assert uneven([MS]).spare() == 0  # what they take is not known yet
    assert uneven([MS], item_bytes=1).spare() == SPARE
    assert uneven([MS], item_bytes=SPARE_BYTES // 3).spare() == 3
    assert uneven([MS], item_bytes=SPARE_BYTES + 1).spare() == 0


@pytest.mark.parametrize("tried", [5, 6, 8])
def test_an_attempt_at_more_threads_takes_no_more_memory(tried):
    tuner = uneven([MS], item_bytes=1)
    before = tuner.depth() + tuner.spare()
    tuner.climb.attempt = Attempt(tuner.threads, Look(), need=1.1)
    tuner.climb.threads = tried
    assert tuner.depth() + tuner.spare() == before


def test_uneven_tasks_take_no_more_memory():
    for item_bytes in (1, SPARE_BYTES // 3, SPARE_BYTES + 1):
        even, odd = (uneven(walls, item_bytes=item_bytes) for walls in ([MS], [MS, 3 * MS]))
        assert odd.depth() + odd.spare() == even.depth() + even.spare()


@pytest.mark.parametrize(
    ("slow", "item_bytes", "more"),
    [
        (400 * MS, 0, 4 * 32),  # at most
        (80 * MS, 0, 4 * 12),  # each of the others makes about as many meanwhile
        (80 * MS, HELD_UP_BYTES // 10, 10),
        (80 * MS, HELD_UP_BYTES + 1, 0),
        (15 * MS, 0, 0),  # soon over
    ],
)
def test_the_window_covers_one_slow_task_among_many(slow, item_bytes, more):
    tuner = uneven([5 * MS] * 19 + [slow] + [5 * MS] * 20, item_bytes=item_bytes)
    assert tuner.depth() == 9 + more
    assert tuner.unevenness > 2


def test_waiting_for_a_core_does_not_make_tasks_uneven():
    tuner = uneven([MS])
    for _ in range(100):
        tuner.observe(Cost(3 * MS, MS, starved=2 * MS), 1)
        tuner.observe(Cost(MS, MS), 1)
    assert tuner.depth() == 9


def test_the_window_has_a_task_for_each_worker():
    """Time without a core is read from another clock, and may be more than the wall's."""
    tuner = looked(1_000_000)
    tuner.start_threads()
    for starved in (0, 10**9, 10**9, 10**7, 0) * 9:
        tuner.observe(Cost(10**6, 10**5, starved), 1)
        assert 2 * tuner.threads + 1 <= tuner.depth() <= 4 * tuner.threads + 1


def test_groups_for_the_native_thread_may_be_larger():
    tuner = looked(20_000)
    tuner.item_bytes = INLINE_BYTES // 40
    assert [tuner.group_items() for _ in range(9)][-1] == 32
    assert tuner.group_items(beside=True) == 128  # the power of two that takes less than 4 ms
    assert tuner.group_items() == 32


def beside_others(tuner, cost):
    """Return the mean cost of an item after tasks like this one ran beside others."""
    tuner.start_threads()
    for _ in range(200):
        tuner.observe(cost, 1)
    return tuner.item_mean


def test_waiting_for_the_gil_does_not_make_tasks_longer():
    waits_for_gil = Cost(10 * MS, MS, 0, yields=3)
    assert beside_others(looked(MS), waits_for_gil) == pytest.approx(MS)
    assert beside_others(looked(3 * MS, cpu=MS), waits_for_gil) == pytest.approx(3 * MS)  # it waits as much by itself


def test_other_waits_of_tasks_beside_others_count():
    assert beside_others(looked(MS), Cost(10 * MS, MS, 0, yields=3, reads=8)) == pytest.approx(10 * MS, 0.01)
    assert beside_others(looked(MS), Cost(200 * MS, MS, 0, yields=3)) == pytest.approx(200 * MS, 0.01)
    assert beside_others(Tuner(2), Cost(10 * MS, MS, 0, yields=3)) == pytest.approx(10 * MS, 0.01)  # none ran alone


def test_a_number_of_threads_that_is_fixed_meanwhile_stays():
    tuner = looked(MS)
    tuner.fix(5)
    assert tuner.threads == 0, "it is still inline"
    assert tuner.start_threads() == 5
    tuner.fix(2)
    assert tuner.threads == tuner.heir().threads == 2
    assert tuner.climb.fixed
    assert tuner.decisions[-1] == "2 threads: as requested meanwhile"


def test_the_reasons_name_the_size_of_tasks():
    tuner = Tuner(None, item_rows=64)
    for _ in range(5):
        tuner.observe(Cost(20 * MS, 20 * MS), 1)
    tuner.start_threads()
    assert tuner.reasons()[-1] == "2 tasks an item: an item costs 20 ms, and is ready sooner if all threads make it"
    cheap = Tuner(None)
    for _ in range(100):
        cheap.observe(Cost(MS // 10, MS // 10), 1)
        cheap.group_items()
    assert cheap.reasons() == [
        "no threads: an item costs 0.1 ms, and threads pay from 0.3 ms on",
        "16 items a task: an item costs 0.1 ms, and a task of 2 ms costs little beside its work",
    ]


def test_tasks_that_ended_before_a_change_do_not_count_for_it():
    """Behind a slow one, many tasks of the threads before may wait to be taken, all at once."""
    tuner = looked(4 * MS, cpu=MS)
    tuner.start_threads()
    tuner.settle(40)
    for _ in range(40):
        tuner.observe(Cost(4 * MS, MS), 1)
    assert tuner.climb.look.tasks == 0
    tuner.observe(Cost(4 * MS, MS), 1)
    assert tuner.climb.look.tasks == 1
