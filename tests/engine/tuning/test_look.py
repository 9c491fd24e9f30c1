"""Looks at tasks: what their times say."""

from __future__ import annotations

from penstock.engine.tasks.cost import MS, Cost
from penstock.engine.tuning.look import LONGEST_PATIENCE, NO_WAIT, PATIENCE, Look


def test_waiting_between_tasks_counts():
    seen = Look(spent=Cost(wall=50 * MS, cpu=50 * MS), passed=50 * MS, waited=50 * MS)
    assert seen.waiting(2) == 1.0
    seen.waited = 10 * MS  # for the rest of the time there may have been nothing to do
    assert seen.waiting(2) == 0.0


def test_time_without_a_core_is_not_work():
    assert Look(spent=Cost(wall=50 * MS, cpu=20 * MS, starved=30 * MS)).work == 20 * MS
    assert Look(spent=Cost(wall=50 * MS, cpu=20 * MS, starved=60 * MS)).work == 0  # read from another clock


def test_each_failed_attempt_is_followed_by_a_longer_wait():
    wait, lengths = NO_WAIT, []
    assert not wait.follows_failure
    assert wait.looked().is_over
    for _ in range(6):
        wait = wait.failed()
        lengths.append(wait.left)
        assert wait.follows_failure
        assert not wait.looked().is_over
    assert lengths[:3] == [PATIENCE, PATIENCE**2, PATIENCE**3]
    assert lengths[-1] == LONGEST_PATIENCE
    assert wait.looked().begun_again() == wait
    assert not wait._replace(left=0).looked().follows_failure  # the attempt is repeated
