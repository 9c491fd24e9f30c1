from __future__ import annotations

import pickle

import numpy as np
import pytest

from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.task import NOTHING, Job, Made, Task
from penstock.plan.flow import Piece

MADE = Made(Piece(Items([]), np.arange(0)), (0, Cost(0, 0)))


def job_of(low, high):
    return Job(Task(low, high, Piece(NOTHING, np.arange(10 * low, 10 * high, 10))), lambda count: low + count)


def parts_of(job, *sizes):
    """The tasks of parts of one batch, each with that many of its elements."""
    ends = np.cumsum(sizes).tolist()
    return [
        job.task._replace(given=Piece(NOTHING, np.arange(n)), part=(end - n, end))
        for n, end in zip(sizes, ends, strict=True)
    ]


def test_a_job_counts_its_items_and_unfinished_tasks():
    job = job_of(2, 5)
    assert (len(job), job.missing, job.tasks) == (3, 1, [job.task])
    assert len(Job(Task(0, 2, Piece(Items(["a", "b"]), np.arange(2))), int)) == 2


@pytest.mark.parametrize("size", [0, 1, 3])
def test_one_task_makes_all_items_of_its_job(size):
    job = job_of(0, size)
    assert job.share(job.task) == max(size, 1)  # an empty task has a cost too


def test_parts_share_one_item_by_their_elements():
    job = job_of(4, 5)
    job.set_tasks(parts_of(job, 1, 2, 5))
    assert [job.share(task) for task in job.tasks] == [1 / 8, 2 / 8, 5 / 8]
    assert job.missing == 3
    assert job.results == [None] * 3


def test_a_job_fails_with_the_exception_of_its_first_failed_task():
    job = job_of(0, 1)
    job.set_tasks(parts_of(job, 2, 2, 2))
    first, second = ValueError("1"), ValueError("2")
    assert (job.failed, job.failure()) == (False, None)
    job.finish(2, second)
    job.finish(1, first)
    job.finish(0, MADE)
    assert job.missing == 0
    assert job.failed
    assert job.failure() is first


def test_the_task_of_one_item_has_that_item_and_no_slot():
    given = Piece(Items(list("abc")), np.array([7, 8, 9]))
    job = Job(Task(4, 7, given, slot=[np.zeros(3)], upcoming=np.arange(5)), int)
    alone = job.alone(1)
    assert (alone.low, alone.high, alone.slot, alone.upcoming, alone.part) == (5, 6, None, None, None)
    assert alone.given.chunk.elements() == ["b"]
    assert alone.given.ids.tolist() == [8]


def test_a_task_travels_to_another_process():
    task = Task(1, 2, Piece(Items(["a"]), np.array([5])), upcoming=np.array([6]), part=(0, 1))
    there = pickle.loads(pickle.dumps(task))
    assert (there.low, there.high, there.part) == (1, 2, (0, 1))
    assert there.given.chunk.elements() == ["a"]
    assert (there.given.ids.tolist(), there.upcoming.tolist()) == ([5], [6])


def test_the_cost_of_a_task_is_scaled_from_the_one_measured_in_full():
    assert Made(Piece(Items([]), np.arange(0)), (50, Cost(100, 40))).cost == Cost(50, 20)
