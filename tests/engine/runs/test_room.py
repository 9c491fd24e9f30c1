"""What a loop may take of the budget of its run."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.elements.chunks.chunk import Items
from penstock.engine.runs.feeds import RowFeed
from penstock.engine.runs.room import Room
from penstock.engine.runs.stage import Stage, Stretch
from penstock.engine.tasks.task import NOTHING, Job, Made, Task
from penstock.engine.workers.window import Window
from penstock.plan.flow import Piece
from tests.engine.runs.sessions import scope_with


@pytest.fixture
def room():
    """The room of a stage whose run may hold 1000 bytes."""
    base = Dataset.range(100)._plan
    with scope_with(Options(executor="threads", memory_budget=1000)) as scope:
        yield Room(Stage(Stretch(base, base), partial(RowFeed, base), scope, top=True), None)


def under_way(nbytes, items=0):
    """Return a window with jobs under way."""
    window = Window(ordered=True)
    window.nbytes, window.items = nbytes, items
    return window


def learnt(room, *sizes):
    for size in sizes:
        rows = np.arange(1)
        job = Job(Task(0, 1, Piece(NOTHING, rows)), lambda count: count)
        room.learn(Piece(Items([np.zeros(size, np.uint8)]), rows), job)


def test_room_is_for_items_as_large_as_the_largest_of_late(room):
    assert room.item_bytes is None
    learnt(room, 10, 100, *[10] * 10)
    assert 95 <= room.item_bytes <= 100
    assert room.for_items(under_way(0)) == 5  # each reserves twice its bytes
    room.gathers = True
    room.choose()
    assert room.for_items(under_way(0)) == 10
    room.gathers = False
    room.choose()
    assert room.for_items(under_way(850)) == 0
    learnt(room, 60_000, *[10] * 50)
    assert 50_000 < room.item_bytes < 60_000


def test_a_size_never_seen_before_lets_few_items_begin(room):
    learnt(room, *[10] * 7)
    assert room.for_items(under_way(0)) == 8
    assert room.for_items(under_way(0, items=6)) == 2
    learnt(room, 21)  # more such may follow it
    assert room.for_items(under_way(0)) == 2
    learnt(room, 30)
    assert room.for_items(under_way(0)) == 3


def test_the_elements_that_tasks_are_given_take_room_too(room):
    learnt(room, *[10] * 9)
    room.reserve(Job(Task(0, 1, Piece(Items([np.zeros(180, np.uint8)]), np.arange(1))), lambda count: count))
    assert room.for_items(under_way(0)) == 5


def test_a_job_that_is_given_too_much_for_its_way_to_another_process_stays_here(room):
    def job(nbytes):
        made = Job(Task(0, 1, Piece(Items([np.zeros(nbytes, np.uint8)]), np.arange(1))), lambda count: count)
        room.reserve(made)
        return made

    assert not room.stays_here(job(10_000))  # threads take it as it is
    room.write_to(None)
    room.choose()
    assert not room.stays_here(job(100))
    assert room.stays_here(job(150))  # four times as much is more than half of the budget


def test_what_waits_behind_others_counts_as_a_size(room):
    learnt(room, *[10] * 9)
    window = Window(ordered=True)
    window.largest = 300
    room.for_items(window)
    assert room.item_bytes == 300
    assert window.largest == 0


def test_each_leaves_the_others_room_for_one_item(room):
    learnt(room, *[100] * 9)
    assert room.account.budget.account("other").left == 800


def test_what_others_hold_leaves_less_room(room):
    learnt(room, *[100] * 9)
    other = room.account.budget.account("other")
    other.add(500)
    room.hold(200)
    assert room.for_items(under_way(0)) == 1
    other.close()
    room.hold(0)
    assert room.for_items(under_way(0)) == 5


def test_an_item_larger_than_all_is_noted_once(room):
    learnt(room, 1000)
    assert not room.exceeds_all
    learnt(room, 1001, 1500)
    assert room.exceeds_all
    (note,) = room.account.budget.notes
    assert "takes about 1,001 bytes" in note


def test_a_job_of_several_items_has_a_quota_of_a_few_times_what_is_expected(room):
    def job(items):
        return Job(Task(0, items, Piece(NOTHING, np.arange(items))), lambda count: count)

    learnt(room, *[1] * 9)
    assert room.quota(job(1)) is None
    assert room.quota(job(2)) == 1000 // 64
    learnt(room, 50)
    assert room.quota(job(2)) == 4 * 2 * 50


def test_a_job_counts_what_was_made_and_what_it_was_given(room):
    given = Piece(Items([np.zeros(300, np.uint8)]), np.arange(1))
    job = Job(Task(0, 1, given), lambda count: count)
    room.reserve(job)
    job.reserved += 1000
    window = Window(ordered=True)
    window.push(job)
    window.finish(job, 0, Made(Piece(Items([np.zeros(50, np.uint8)]), np.arange(1)), (0, None)))
    assert window.nbytes == 350
    assert window.pop()[0].nbytes == 350
    assert window.nbytes == 0


@pytest.mark.parametrize(("budget", "looked_at"), [(None, 2), (10**9, 16)])
def test_without_a_given_budget_one_job_in_eight_is_looked_at(budget, looked_at):
    base = Dataset.range(100)._plan
    with scope_with(Options(executor="threads", memory_budget=budget)) as scope:
        room = Room(Stage(Stretch(base, base), partial(RowFeed, base), scope, top=True), None)
        learnt(room, 10)
        window, counted = Window(ordered=True), []
        for row in range(16):
            job = Job(Task(row, row + 1, Piece(NOTHING, np.arange(1))), lambda count: count)
            room.reserve(job)
            window.push(job)
            window.finish(job, 0, Made(Piece(Items([np.zeros(500, np.uint8)]), np.arange(1)), (0, None)))
            counted.append(window.pop()[0].nbytes)
    assert counted.count(500) == looked_at
    assert counted.count(10) == 16 - looked_at
