from __future__ import annotations

import threading
from concurrent.futures import Future

import numpy as np
import pytest

from penstock.core.budget import Budget
from penstock.core.errors import ClosedError
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.task import Job, Made, Task
from penstock.engine.workers.window import Window
from penstock.plan.flow import Piece

MADE = Made(Piece(Items([]), np.arange(0)), (1, Cost(1, 1)))


def job_of(low, high=None, tasks=1):
    high = low + 1 if high is None else high
    job = Job(Task(low, high, Piece(Items([]), np.arange(low, high))), int)
    job.set_tasks([job.task] * tasks)
    return job


def filled_window(ordered, count=3):
    window = Window(ordered=ordered)
    jobs = [job_of(index) for index in range(count)]
    for job in jobs:
        window.push(job)
    return window, jobs


def test_jobs_begin_within_the_budget_and_the_oldest_in_any_case():
    budget = Budget(100)
    window = Window(ordered=True, account=budget.account("batches"))
    first, second = job_of(0), job_of(1)
    for job in (first, second):
        job.reserved = 50  # as expected
        window.push(job)
    assert window.admits(second)
    made = Made(Piece(Items([np.zeros(60, np.uint8)]), np.arange(1)), (1, Cost(1, 1)))
    window.finish(first, 0, made)
    assert not window.admits(second)
    assert window.pop() == [first]
    assert window.admits(second)
    other = budget.account("others")
    other.add(200)
    assert window.admits(second)  # the consumer waits for it


def test_in_order_the_oldest_job_comes_first():
    window, (first, second, third) = filled_window(ordered=True)
    for job in (third, second, first):
        window.finish(job, 0, MADE)
    assert [window.pop() for _ in range(3)] == [[first], [second], [third]]
    assert len(window) == 0


def test_out_of_order_the_first_finished_job_comes_first():
    window, (first, second, third) = filled_window(ordered=False)
    window.finish(third, 0, MADE)
    assert window.pop() == [third]
    window.finish(first, 0, MADE)
    window.finish(second, 0, MADE)
    assert [window.pop(), window.pop()] == [[first], [second]]


def test_a_job_waits_for_all_its_tasks():
    window = Window(ordered=True)
    whole = job_of(0, 1, tasks=2)
    window.push(whole)
    window.finish(whole, 1, MADE)
    popped = []
    waiter = threading.Thread(target=lambda: popped.extend(window.pop()))
    waiter.start()
    assert popped == []
    window.finish(whole, 0, MADE)
    waiter.join(60)
    assert popped == [whole]


def test_a_failed_job_comes_in_its_turn():
    window, (first, second, _) = filled_window(ordered=True)
    window.finish(second, 0, ValueError("a bad row"))
    assert window.waits
    window.finish(first, 0, MADE)
    assert [window.pop()[0].failed, window.pop()[0].failed] == [False, True]


def test_closing_wakes_the_consumer_and_cancels_tasks_that_have_not_begun():
    window, jobs = filled_window(ordered=True, count=2)
    future = Future()
    jobs[0].futures = [future]
    outcome = []

    def wait():
        try:
            window.pop()
        except ClosedError as error:
            outcome.append(error)

    waiter = threading.Thread(target=wait)
    waiter.start()
    window.close()
    waiter.join(60)
    assert len(outcome) == 1
    assert len(window) == 0
    assert future.cancelled()
    window.finish(jobs[1], 0, MADE)  # a task that ends late harms nothing
    with pytest.raises(ClosedError):
        window.pop()


def test_finished_jobs_hold_no_futures():
    window, (first, *_) = filled_window(ordered=True)
    first.futures = [Future()]
    window.finish(first, 0, MADE)
    assert window.pop()[0].futures == []


def test_a_window_counts_tasks_items_and_bytes():
    window = Window(ordered=True)
    for low, high, nbytes, tasks in ((0, 3, 10, 1), (3, 4, 5, 4)):
        job = job_of(low, high, tasks)
        job.nbytes = nbytes
        window.push(job)
    assert (len(window), window.tasks, window.items, window.nbytes) == (2, 5, 4, 15)
    window.finish(job, 0, MADE)
    assert window.done == 1
    window.after_fork()
    assert window.done == 0
    assert (len(window), window.tasks, window.items, window.nbytes) == (0, 0, 0, 0)


def test_a_window_counts_unfinished_jobs_and_knows_if_the_next_is_done():
    window, (first, second, third) = filled_window(ordered=True)
    assert (window.unfinished, window.waits) == (3, True)
    window.finish(second, 0, MADE)
    assert (window.unfinished, window.waits, window.done) == (2, True, 1)
    window.finish(first, 0, MADE)
    assert (window.unfinished, window.waits) == (1, False)
    window.pop()
    assert window.done == 1
    window.pop()
    assert (window.unfinished, window.waits, window.done) == (1, True, 0)
    assert third.missing == 1


def test_tasks_made_before_their_job_began_count_as_done():
    window, job = Window(ordered=True), job_of(0, tasks=2)
    job.finish(0, MADE)
    window.push(job)
    assert window.done == 1
    window.finish(job, 1, MADE)
    assert (window.pop(), window.done) == ([job], 0)


def test_in_a_forked_child_a_window_is_empty_and_its_lock_free():
    window, _ = filled_window(ordered=True)
    held, release = threading.Event(), threading.Event()

    def hold():
        with window._lock:
            held.set()
            release.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(60)
    window.after_fork()
    window.push(job_of(7))
    assert len(window) == 1
    release.set()
    holder.join(60)


@pytest.mark.parametrize("ordered", [True, False])
def test_jobs_that_are_done_and_follow_are_taken_together(ordered):
    window, (first, second, third) = filled_window(ordered)
    window.finish(second, 0, MADE)
    window.finish(first, 0, MADE)
    window.finish(third, 0, MADE)
    assert window.pop(1) == [first, second]
    assert window.pop(5) == [third]
    assert (len(window), window.tasks, window.items) == (0, 0, 0)


def test_a_job_that_announces_a_mark_is_taken_out_alone():
    for first_announces in (True, False):
        window, jobs = filled_window(True, 2)
        jobs[0].announces, jobs[1].announces = first_announces, not first_announces
        for job in jobs:
            window.finish(job, 0, MADE)
        assert [window.pop(5), window.pop(5)] == [jobs[:1], jobs[1:]]


def test_jobs_that_failed_have_several_tasks_or_do_not_follow_are_not_taken_along():
    failed, cut, apart = job_of(1), job_of(1, tasks=2), job_of(7)
    for job, result in ((failed, ValueError("no")), (cut, MADE), (apart, MADE)):
        window, before = Window(ordered=True), job_of(0)
        for each, ends_with in ((before, MADE), (job, result)):
            window.push(each)
            for number in range(len(each.tasks)):
                window.finish(each, number, ends_with)
        assert window.pop(5) == [before]
        assert window.pop(5) == [job]
