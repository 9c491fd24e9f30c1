"""Viewers of a run: who looks when, and what is new."""

from __future__ import annotations

import gc
import weakref
from types import SimpleNamespace

import pytest

import penstock as ps
from penstock import Dataset, Options
from penstock.engine.tuning.tuner import Tuner
from penstock.watch.viewers import NEVER, News, Pace


class Diary:
    """A viewer that keeps what it is told."""

    def __init__(self):
        self.received, self.closed = [], []

    def look(self, moment, spans):
        assert moment.asked <= moment.now
        assert spans == []
        self.received.append(moment.received)

    def close(self, last, spans):
        self.closed.append(last)


def watched(ds):
    it, diary = ds.iterator(), Diary()
    it._add_viewer("watch", lambda: diary)
    return it, diary


def test_a_viewer_looks_at_every_arrival_and_closes_at_the_end():
    it, diary = watched(Dataset.range(6).map(str).with_options(Options(executor="inline")))
    assert len(list(it)) == 6
    assert diary.received[0] == 0
    assert diary.received == sorted(diary.received)
    assert diary.received[-1] == 6
    (last,) = diary.closed
    assert last.items == 6
    it.close()
    assert len(diary.closed) == 1


def test_a_viewer_that_is_never_due_looks_at_the_beginning_and_the_end():
    it, diary = watched(Dataset.range(600).batch(2))
    diary.due = NEVER
    assert len(list(it)) == 300
    assert diary.received[0] == 0
    assert len(diary.received) <= 2
    assert [last.items for last in diary.closed] == [300]


def test_a_viewer_closes_with_the_iterator():
    it, diary = watched(Dataset.range(600).batch(2))
    next(it)
    it.close()
    assert [last.items for last in diary.closed] == [1]


def test_a_viewer_of_a_failed_run_is_closed():
    it, diary = watched(Dataset.range(6).map(lambda x: 1 // (3 - x)).batch(1))
    with pytest.raises(ZeroDivisionError):
        list(it)
    assert [last.items for last in diary.closed] == [3]


def test_a_dropped_iterator_closes_its_viewers_and_is_not_kept_by_them():
    it, diary = watched(Dataset.range(600).batch(2))
    next(it)
    gone = weakref.ref(it)
    del it
    gc.collect()
    assert gone() is None
    assert diary.closed == [None]


class Failing(Diary):
    """A viewer with an error of its own."""

    def look(self, moment, spans):
        super().look(moment, spans)
        raise RuntimeError("the disk of the dashboard")


def test_an_error_of_a_viewer_is_said_and_does_not_end_the_run(caplog):
    it, diary = watched(Dataset.range(6).batch(1).with_options(Options(executor="inline")))
    failing = Failing()
    it._add_viewer("watch", lambda: failing)
    assert [batch.tolist() for batch in it] == [[n] for n in range(6)]
    assert caplog.text.count("watching by Failing failed, and the run goes on without it") == 1
    assert "the disk of the dashboard" in caplog.text
    assert (len(failing.received), len(failing.closed)) == (1, 1)
    assert diary.received[-1] == 6


def test_news_come_once():
    event = ps.RunEvent(0.0, "died", "", None, "x")
    session = SimpleNamespace(tuners=[Tuner(None, decisions=["a"]), Tuner(None)], events=[event])
    run, news = SimpleNamespace(session=session), News()
    assert (news.decisions(run), [str(event) for event in news.events(run)]) == (["a"], ["x"])
    run.session.tuners[1].decisions.append("b")
    run.session.events.append(ps.RunEvent(0.0, "died", "", None, "x"))
    assert (news.decisions(run), [str(event) for event in news.events(run)]) == (["b"], ["x"])
    assert (news.decisions(run), news.events(run)) == ([], [])


def test_a_pace_is_due_again_after_its_pause():
    pace = Pace(10)
    assert [pace.is_due(now) for now in (1, 5, 11, 12, 30)] == [True, False, True, False, True]


def test_a_viewer_looks_only_when_it_is_due():
    class Seldom(Diary):
        due = 0

        def look(self, moment, spans):
            super().look(moment, spans)
            self.due = NEVER

    it = Dataset.range(40).batch(2).with_options(Options(executor="inline")).iterator()
    viewer = Seldom()
    it._add_viewer("kept", lambda: viewer)
    assert len(list(it)) == 20
    assert len(viewer.received) == 2  # the first one, and the end


def test_one_viewer_that_looks_at_all_moments_lets_others_look_too():
    it = Dataset.range(40).batch(2).with_options(Options(executor="inline")).iterator()
    seen, seldom = Diary(), Diary()
    seldom.due = NEVER
    for viewer in (seen, seldom):
        it._add_viewer("kept", lambda viewer=viewer: viewer)
    assert len(list(it)) == 20
    assert len(seen.received) == len(seldom.received) > 2
