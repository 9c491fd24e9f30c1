from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tasks.task import Task
from penstock.engine.tasks.works import RowWork
from penstock.plan.flow import Piece
from penstock.plan.quota import QuotaExceeded, under_quota, within_quota

MADE = []


def make(x):
    MADE.append(int(x))
    return np.zeros(1000, np.uint8)


def task(count, quota):
    return Task(0, count, Piece(Items([]), np.arange(count)), quota=quota)


def test_a_task_stops_at_the_first_element_beyond_its_quota():
    work = RowWork(ps.Dataset.range(10).map(make)._plan, np.empty, Unobserved())
    MADE.clear()
    with pytest.raises(QuotaExceeded):
        work.make(task(10, 2500))
    assert MADE == [0, 1, 2]
    MADE.clear()
    assert len(work.make(task(3, 2500)).piece) == 3  # the last element may exceed it
    assert len(work.make(task(10, 10_000)).piece) == 10
    assert len(work.make(task(10, None)).piece) == 10


def test_no_policy_handles_it():
    work = RowWork(ps.Dataset.range(10).map(make, on_error=ps.on_error.replace(0))._plan, np.empty, Unobserved())
    with pytest.raises(QuotaExceeded):
        work.make(task(10, 2500))


def test_a_task_inside_of_a_task_has_its_own_quota():
    inner = RowWork(ps.Dataset.range(10).map(make)._plan, np.empty, Unobserved())
    with under_quota(2500):
        assert len(inner.make(task(10, None)).piece) == 10


def test_an_inner_quota_ends_with_its_task():
    with under_quota(1):
        with under_quota(None):
            assert list(within_quota(iter([b"x" * 10] * 3), 3)) == [b"x" * 10] * 3
        with pytest.raises(QuotaExceeded):
            list(within_quota(iter([b"x" * 10] * 3), 3))
