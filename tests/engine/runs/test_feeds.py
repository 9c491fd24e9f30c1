"""Feeds alone: their jobs, the marks after each item, and the rows they tell of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Dataset
from penstock.core.errors import CursorError
from penstock.engine.runs.feeds import PieceFeed, RowFeed
from tests.plan.flows import SIZES, stream_of

PLAN = Dataset.range(100)._plan


def jobs_of(feed, count):
    jobs = []
    while (job := feed.take(count)) is not None:
        jobs.append(job)
    assert feed.take(count) is None
    return jobs


def rows_of(jobs):
    return [row for job in jobs for row in job.task.given.ids.tolist()]


# Rows


def test_a_job_of_rows_has_the_requested_number_and_marks_that_count():
    feed = RowFeed(PLAN, 0)
    job = feed.take(7)
    assert (len(job), job.mark_after(0), job.mark_after(7)) == (7, 0, 7)
    assert (job.task.low, job.task.high, job.announces) == (0, 7, False)
    assert [len(each) for each in jobs_of(feed, 7)] == [7] * 13 + [2]


@given(st.integers(0, 30), st.integers(1, 4), st.data())
def test_a_feed_from_any_mark_yields_the_rows_after_it(size, step, data):
    plan = Dataset.range(size)._plan
    first, epoch = data.draw(st.integers(0, step - 1)), data.draw(st.integers(0, 3))
    feed = RowFeed(plan, epoch, first=first, step=step)
    jobs = jobs_of(feed, data.draw(st.integers(1, 9)))
    assert rows_of(jobs) == [epoch * size + row for row in range(first, size, step)]
    for job in jobs:
        for count in range(len(job) + 1):
            again = RowFeed(plan, epoch, job.mark_after(count), first=first, step=step)
            assert rows_of(jobs_of(again, 5)) == [
                row for row in rows_of(jobs) if row >= job.task.given.ids[0] + step * count
            ]


@pytest.mark.parametrize(("mark", "first", "step"), [(101, 0, 1), (1 << 40, 0, 1), (4, 0, 3), (103, 1, 3)])
def test_a_mark_that_does_not_fit_the_feed_is_refused(mark, first, step):
    with pytest.raises(CursorError, match="beyond the end"):
        RowFeed(PLAN, 0, mark, first=first, step=step)


@given(st.sets(st.integers(0, 39)), st.integers(1, 9))
def test_rows_that_were_received_are_left_out(received, count):
    spans = []
    for row in sorted(received):
        if spans and spans[-1][1] == row:
            spans[-1] = (spans[-1][0], row + 1)
        else:
            spans.append((row, row + 1))
    jobs = jobs_of(RowFeed(Dataset.range(40)._plan, 0, 0, received=spans), count)
    assert rows_of(jobs) == [row for row in range(40) if row not in received]
    assert all(job.mark_after(len(job)) == job.task.given.ids[-1] + 1 for job in jobs)


@pytest.mark.parametrize(("first", "step"), [(0, 1), (2, 3)])
def test_the_rows_of_later_positions_are_those_of_later_jobs(first, step):
    feed = RowFeed(PLAN, 2, first=first, step=step)
    rows = rows_of(jobs_of(RowFeed(PLAN, 2, first=first, step=step), 9))
    assert feed.end == 100
    for low, high in ((0, 100), (20, 50), (21, 22), (99, 100)):
        told, end = feed.rows_of(low, high)
        assert end == high
        assert told.tolist() == [row for row in rows if low <= row - 200 < high]


@pytest.mark.parametrize("epoch", [2**15, 2**40, 2**100])
def test_rows_of_epochs_too_late_to_count_are_row_numbers(epoch):
    plan = Dataset.counter()._plan
    row = RowFeed(plan, epoch).take(1).task.given.ids[0]
    assert 0 <= row < 2**63
    assert row % 2**48 == 0


# Pieces


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("count", [1, 2, 5, 1000])
def test_a_job_of_a_stream_has_the_elements_at_hand_and_the_mark_after_each(sizes, count):
    source = stream_of(range(23), sizes)
    jobs = jobs_of(PieceFeed(source, 0), count)
    assert [x for job in jobs for x in job.task.given.chunk.elements()] == list(range(23))
    assert all(0 < len(job) <= count for job in jobs)
    for job in jobs:
        for after in range(len(job) + 1):
            again = jobs_of(PieceFeed(source, 0, job.mark_after(after)), 1000)
            assert rows_of(again) == list(range(job.task.given.ids[0] + after, 23))


def test_only_a_job_after_an_empty_piece_announces_its_mark():
    assert [job.announces for job in jobs_of(PieceFeed(stream_of(range(6), (1,)), 0), 9)] == [False] * 6
    assert [job.announces for job in jobs_of(PieceFeed(stream_of(range(6), (1, 0, 2)), 0), 9)] == [False, True] * 2


def test_a_feed_of_elements_made_from_one_each_requests_as_many_as_are_wanted():
    asked = []

    def source(epoch, mark=None):
        for piece in stream_of(range(4), (1,))(epoch, mark):
            wanted = yield piece
            asked.append(wanted)

    for each_from_one, answers in ((True, [5, 5, 5]), (False, [None, None, None])):
        asked.clear()
        feed = PieceFeed(source, 0, each_from_one=each_from_one)
        for _ in range(4):
            assert len(feed.take(9, 5)) == 1
        assert asked == answers


def test_closing_a_feed_closes_the_stream_below():
    closed = []

    def source(epoch, mark=None):
        try:
            yield from stream_of(range(9), (1,))(epoch, mark)
        finally:
            closed.append(True)

    feed = PieceFeed(source, 0)
    feed.take(1)
    feed.close()
    assert closed == [True]
    rows = RowFeed(PLAN, 0)
    rows.close()
    assert np.array_equal(rows.take(1).task.given.ids, [0])
