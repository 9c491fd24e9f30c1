"""Failed jobs: the items before the one at fault, made one by one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ElementError, WorkerError
from penstock.engine.runs.failures import replayed
from penstock.engine.runs.feeds import RowFeed
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.works import RowWork
from penstock.transport.unsent import mark_unsent

AWAY = OSError("the disk is away")


def fails_at_3(x):
    if x == 3:
        raise LookupError("not 3")
    return x * 10


def replay_of(dataset, count, *failures, lone_too=False):
    """The items, the marks after them and the end of a job whose tasks ended with these failures."""
    plan = dataset._plan
    job = RowFeed(plan, 0).take(count)
    job.set_tasks([job.task] * len(failures))
    for number, failure in enumerate(failures):
        job.finish(number, failure)
    items, marks = [], []
    steps = replayed(job, RowWork(plan, np.empty, Unobserved()), lone_too=lone_too)
    while True:
        try:
            piece = next(steps)
        except StopIteration as ended:
            return items, marks, ended.value
        items += piece.chunk.elements()
        marks.append(piece.after)


TENFOLD = Dataset.range(9).map(fails_at_3, vectorized=False)


def test_the_items_before_the_one_at_fault_come_first_each_with_its_mark():
    items, marks, at_fault = replay_of(TENFOLD, 8, LookupError("of the group"))
    assert (items, marks) == ([0, 10, 20], [1, 2, 3])
    assert (str(at_fault.failure), at_fault.item) == ("not 3", 3)


def test_a_failure_that_does_not_recur_gives_all_items():
    assert replay_of(TENFOLD, 3, AWAY) == ([0, 10, 20], [1, 2, 3], None)


def test_a_single_item_is_made_again_only_on_request():
    assert replay_of(TENFOLD, 1, AWAY) == ([], [], (AWAY, 0))
    assert replay_of(TENFOLD, 1, AWAY, lone_too=True) == ([0], [1], None)


def test_a_job_that_killed_a_worker_is_not_made_here():
    made = []
    died = WorkerError("a worker died")
    deadly = Dataset.range(9).map(lambda x: made.append(x) or x, vectorized=False)
    assert replay_of(deadly, 8, died, lone_too=True) == ([], [], (died, 0))
    assert made == []


@pytest.mark.parametrize("failures", [[ElementError("of a part"), None], [None, None]])
def test_a_batch_whose_parts_do_not_fit_is_made_again_as_a_whole(failures):
    batches = Dataset.range(8).batch(4)
    work = RowWork(batches._plan, np.empty, Unobserved())
    whole = work.tried(RowFeed(batches._plan, 0).take(1).task).piece.chunk.elements()[0]
    (item,), marks, at_fault = replay_of(batches, 1, *failures)
    assert np.array_equal(item, whole)
    assert (marks, at_fault) == ([1], None)


class Unsendable:
    """A number whose one value cannot be pickled."""

    def __init__(self, number):
        self.number = number
        if number == 3:
            self.inner = [threading.Lock()]


@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("failure", [TypeError("cannot pickle"), WorkerError("LocalError: cannot be pickled")])
def test_after_a_failure_on_the_way_the_item_that_cannot_be_sent_is_at_fault(first, failure):
    ds = Dataset.range(9).skip(first).map(Unsendable, vectorized=False)
    items, marks, at_fault = replay_of(ds, 8 if first == 0 else 1, mark_unsent(failure))
    assert [each.number for each in items] == list(range(3 - first))
    assert marks == list(range(1, 4 - first))
    assert at_fault.item == 3 - first
    assert type(at_fault.failure) is TypeError
    (told,) = at_fault.failure.__notes__
    assert "map(Unsendable" in told
    assert "makes elements that cannot be sent between processes (element.inner[0] is a lock)" in told


def test_a_batch_names_its_element_that_cannot_be_sent():
    ds = Dataset.range(9).map(Unsendable, vectorized=False).batch(2)
    items, _, at_fault = replay_of(ds, 3, mark_unsent(TypeError("cannot pickle")))
    assert (len(items), at_fault.item) == (1, 1)
    assert "batch(2) makes elements that cannot be sent between processes (batch[1].inner[0] is a lock)" in str(
        at_fault.failure.__notes__
    )


def test_an_exception_that_could_not_be_sent_is_raised_itself_even_by_a_lone_item():
    items, _, at_fault = replay_of(TENFOLD.skip(3), 1, mark_unsent(WorkerError("LookupError: not 3")))
    assert items == []
    assert repr(at_fault.failure) == "LookupError('not 3')"


def test_a_lone_item_that_can_be_sent_after_all_keeps_the_failure_of_its_executor():
    away = mark_unsent(OSError("the cluster is away"))
    assert replay_of(TENFOLD, 1, away) == ([], [], (away, 0))
    assert replay_of(TENFOLD, 3, away) == ([0, 10, 20], [1, 2, 3], None)


def test_an_error_of_a_function_in_a_part_of_a_batch_is_not_made_again():
    failure = LookupError("of a part")
    assert replay_of(Dataset.range(8).batch(4), 1, failure, None) == ([], [], (failure, 0))
