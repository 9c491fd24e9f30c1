"""Worker processes that take too long: reported with their stack, and ended only if the user has set a time."""

from __future__ import annotations

import math
import signal

import pytest

import penstock as ps
from penstock.engine.tuning.settings import settings_of
from penstock.engine.workers.processes.member import STACK_WITHIN, Overdue

D = ps.Dataset


class Errors:
    """The standard error of a worker."""

    def __init__(self):
        self.text = "before"

    @property
    def count(self):
        return len(self.text)

    def text_after(self, count):
        return self.text[count:]


class FakeTicket:
    """A task of which `left(taken)` seconds are left, and the client that is told of it."""

    def __init__(self, stuck_after=10.0, most=math.inf):
        self.client, self.task, self.what = self, "the task", "items 3 to 4"
        self.stuck_after, self.most, self.told = stuck_after, most, []

    def seconds_left(self, taken):
        return self.most - taken

    def note(self, kind, task, words, wrote=""):
        self.told.append((kind, task, words, wrote))


class Watched:
    """A worker with the task `ticket`, looked at whenever a look is due; it writes its stack when it is asked to."""

    def __init__(self, ticket):
        self.sent, self.errors, self.now = [], Errors(), 1000.0
        self.overdue = Overdue("worker 1", self.send, self.errors)
        self.overdue.begin(ticket, self.now)

    def send(self, number):
        self.sent.append(number)
        self.errors.text += "in f" if number == signal.SIGUSR1 else ""

    def until(self, seconds):
        while self.overdue.due <= 1000 + seconds:
            self.now = self.overdue.due
            self.overdue.look(self.now)


def test_a_task_that_takes_long_is_reported_with_the_stack_and_again_after_twice_the_time():
    ticket = FakeTicket()
    watched = Watched(ticket)
    watched.until(9.9)
    assert (watched.sent, ticket.told) == ([], [])
    watched.until(10 + STACK_WITHIN)
    assert ticket.told == [("stuck", "the task", "worker 1 has taken 10 s for items 3 to 4", "in f")]
    watched.until(100)
    assert [int(words.split()[4]) for _, _, words, _ in ticket.told] == [10, 21, 42, 84]
    assert set(watched.sent) == {signal.SIGUSR1}


def test_a_task_whose_time_is_over_ends_the_worker_after_the_stack():
    ticket = FakeTicket(most=40)
    watched = Watched(ticket)
    watched.until(1000)
    assert watched.sent[-1] == signal.SIGKILL
    assert watched.sent.count(signal.SIGKILL) == 1
    assert watched.overdue.ended
    assert ticket.told[-1][2].endswith("it is ended now, and another worker makes them again")
    assert ticket.told[-1][3] == "in f"
    assert watched.now - 1000 == pytest.approx(40 + STACK_WITHIN, abs=0.1)


def test_a_task_that_ends_in_time_is_not_told_of():
    ticket = FakeTicket(most=10)
    watched = Watched(ticket)
    watched.until(10)  # the worker is asked for its stack
    watched.overdue.begin(None, watched.now)
    watched.until(1000)
    assert (ticket.told, watched.sent) == ([], [signal.SIGUSR1])


def test_a_worker_that_does_not_answer_is_told_of():
    ticket = FakeTicket(most=10)
    watched = Watched(ticket)
    watched.send = watched.sent.append
    watched.overdue._send = watched.sent.append
    watched.until(1000)
    assert ticket.told[-1][2].endswith("; it does not write its stack")


def test_the_default_never_ends_a_worker(pool):
    ds = D.range(8).map(lambda x: x).batch(4).with_options(ps.Options(executor="processes", workers=2))
    assert not settings_of(ds._plan).ends_stuck
    assert settings_of(ds.with_options(ps.Options(stuck_after=60))._plan).ends_stuck
