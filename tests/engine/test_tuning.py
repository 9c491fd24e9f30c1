from __future__ import annotations

import pytest

from penstock.engine import tuning
from penstock.engine.task import Cost
from penstock.engine.tuning import (
    CONVICTED,
    INLINE_BYTES,
    INLINE_TASK,
    LOOKS,
    MOST_GROUPED,
    MOST_WORKERS,
    MS,
    SAMPLE,
    Tuner,
)


@pytest.fixture(autouse=True)
def two_cores(monkeypatch):
    monkeypatch.setattr(tuning, "available_cores", lambda: 2.0)


def looked(item, cpu=None, workers=None, looks=LOOKS):
    tuner = Tuner(workers)
    for _ in range(looks):
        tuner.observe(Cost(item, item if cpu is None else cpu), 1)
    return tuner


def test_threads_pay_only_for_items_dearer_than_a_hand_over():
    assert not Tuner(None).threads_pay()
    assert not looked(20_000, looks=100).threads_pay()
    assert looked(tuning.THREAD_PAYS).threads_pay()
    assert not looked(tuning.THREAD_PAYS, looks=LOOKS - 1).threads_pay()
    assert looked(tuning.SURELY_PAYS, looks=2).threads_pay()
    assert not looked(tuning.SURELY_PAYS, looks=1).threads_pay()  # the first has files to open and memory to touch


def test_as_many_threads_as_keep_the_cores_busy():
    assert looked(MS).start_threads(0) == 2
    assert looked(4 * MS, cpu=MS).start_threads(0) == 8  # three quarters of its time it waits
    assert looked(1000 * MS, cpu=1000).start_threads(0) == MOST_WORKERS
    assert looked(4 * MS, cpu=MS, workers=3).start_threads(0) == 3
    assert Tuner(None).start_threads(0) == 2


def test_it_says_why():
    tuner = looked(4 * MS, cpu=MS)
    tuner.start_threads(0)
    assert tuner.decisions[0].startswith("8 threads: 2 cores × 4.0")
    assert "4.00 ms" in tuner.decisions[0]


def test_groups_double_up_to_a_share_of_work_and_of_bytes():
    tuner = looked(1_000)
    groups = [tuner.group_items() for _ in range(20)]
    assert groups[:4] == [2, 4, 8, 16]
    assert groups[-1] == 128  # the power of two below what the bound on work allows
    assert 128 <= INLINE_TASK // 1_000 < 256
    tuner.item_bytes = INLINE_BYTES // 4
    assert tuner.group_items() == 4
    tuner.item_bytes = 10 * INLINE_BYTES
    assert tuner.group_items() == 1
    tiny = looked(1)
    assert max(tiny.group_items() for _ in range(20)) == MOST_GROUPED
    assert looked(10 * MS).group_items() == 1
    assert Tuner(None).group_items() == 1


def test_a_dear_batch_is_split_over_the_workers():
    tuner = looked(100 * MS, workers=4)
    tuner.start_threads(0)
    assert tuner.split_item() == 4
    short = looked(tuning.LONGEST_PIECE - 1, workers=4)
    short.start_threads(0)
    assert short.split_item() == 1


def test_one_outlier_does_not_change_the_measure():
    tuner = looked(1_000, looks=20)
    tuner.observe(Cost(100 * MS, 100 * MS), 1)
    assert tuner.item_wall < 2_000


def side_by_side(tasks, wall, cpu, took, workers=None, starved=0, yields=1, looks=CONVICTED):
    tuner = looked(MS, workers=workers)
    tuner.start_threads(0)
    changes = []
    for look in range(1, looks + 1):
        for _ in range(tasks):
            tuner.observe(Cost(wall, cpu, starved, yields), 1)
        changes.append(tuner.retuned(look * took))
    return tuner, changes[-1]


def test_functions_that_hold_the_gil_are_noticed():
    tuner, threads = side_by_side(SAMPLE, wall=2 * MS, cpu=MS, took=SAMPLE * MS)
    assert threads == 1
    assert tuner.holds_gil
    assert any("hold the GIL" in decision for decision in tuner.decisions)
    for _ in range(SAMPLE):
        tuner.observe(Cost(3 * MS, MS, 0, 1), 1)
    assert tuner.retuned(6 * SAMPLE * MS) is None  # once is enough


def test_one_look_is_not_enough_to_tell():
    tuner, threads = side_by_side(SAMPLE, wall=2 * MS, cpu=MS, took=SAMPLE * MS, looks=1)
    assert threads is None
    assert not tuner.holds_gil


def test_a_number_of_threads_that_was_asked_for_stays():
    tuner, threads = side_by_side(SAMPLE, wall=2 * MS, cpu=MS, took=SAMPLE * MS, workers=2)
    assert threads is None
    assert tuner.holds_gil


def test_functions_that_run_side_by_side_are_not_suspected():
    assert side_by_side(SAMPLE, wall=MS, cpu=MS, took=SAMPLE * MS // 2)[1] is None
    assert side_by_side(SAMPLE - 1, wall=2 * MS, cpu=MS, took=SAMPLE * MS)[1] is None  # too few to say
    assert side_by_side(SAMPLE, wall=2 * MS, cpu=MS, took=100 * SAMPLE * MS)[1] is None  # the workers were idle
    starved = side_by_side(SAMPLE, wall=2 * MS, cpu=MS, took=SAMPLE * MS, starved=MS)
    assert starved[1] is None  # other processes had the cores
    assert not starved[0].holds_gil
    stolen = side_by_side(SAMPLE, wall=2 * MS, cpu=MS, took=SAMPLE * MS, yields=0)
    assert not stolen[0].holds_gil  # a virtual machine lost the time: nobody waited for anybody


def test_threads_follow_when_tasks_begin_to_block_or_end_it():
    tuner, threads = side_by_side(SAMPLE, wall=10 * MS, cpu=MS, took=5 * SAMPLE * MS, looks=1)
    assert threads == 4  # twice as many at the most, then another look
    for _ in range(SAMPLE):
        tuner.observe(Cost(MS, MS), 1)
    assert tuner.retuned(5 * SAMPLE * MS + SAMPLE * MS // 4) == 2


def test_the_first_task_does_not_say_how_much_the_others_wait():
    tuner = Tuner(None)
    tuner.observe(Cost(20 * MS, MS), 1)
    for _ in range(LOOKS - 1):
        tuner.observe(Cost(MS, MS), 1)
    assert tuner.start_threads(0) == 2


def test_more_threads_that_make_no_more_go_again_and_do_not_come_back():
    tuner, threads = side_by_side(SAMPLE, wall=10 * MS, cpu=MS, took=5 * SAMPLE * MS, looks=1)
    assert threads == 4
    for look, expected in ((2, 2), (3, None), (4, None)):
        for _ in range(SAMPLE):
            tuner.observe(Cost(20 * MS, MS), 1)
        assert tuner.retuned(look * 5 * SAMPLE * MS) == expected
    assert "2 threads in place of 4, which made 1.0 times as much" in tuner.decisions


def test_more_threads_that_make_more_stay():
    tuner, threads = side_by_side(SAMPLE, wall=10 * MS, cpu=MS, took=5 * SAMPLE * MS, looks=1)
    assert threads == 4
    for _ in range(SAMPLE):
        tuner.observe(Cost(10 * MS, MS), 1)
    assert tuner.retuned((5 + 2) * SAMPLE * MS) == 8


def test_the_window_is_deep_enough_for_every_worker():
    tuner = Tuner(4)
    tuner.start_threads(0)
    assert tuner.depth() >= 2 * 4
