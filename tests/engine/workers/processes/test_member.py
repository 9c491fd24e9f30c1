from __future__ import annotations

import os
import signal

import pytest

from penstock.engine.workers.processes.member import TASKS_AHEAD, Member
from penstock.engine.workers.processes.starting import PoolSetup, started
from penstock.engine.workers.suspects import told_code


@pytest.fixture
def member():
    made = Member(7, started(PoolSetup(1), None))
    yield made
    made.signal(signal.SIGKILL)
    os.waitid(os.P_PIDFD, made.pidfd, os.WEXITED | os.WNOWAIT) if made.reaped() is None else None
    made.reaped()
    made.close()


class Sent:
    """A ticket of which only the plan counts."""

    head, tail = ("forget", 0), b""

    def __init__(self):
        self.client = self
        self.plan = self
        self.number = 5

    def send(self, channel):
        self.times = getattr(self, "times", 0) + 1


def test_a_worker_takes_one_task_ahead_and_each_plan_once(member):
    ticket = Sent()
    assert not member.has_place()
    member.ready = True
    for _ in range(TASKS_AHEAD):
        assert member.has_place()
        member.give(ticket)
    assert not member.has_place()
    assert ticket.times == 1
    member.forget(5)
    member.forget(5)
    member.give(ticket)
    assert ticket.times == 2


def test_the_code_of_a_process_that_ended_is_told(member):
    assert member.reaped() is None
    member.signal(signal.SIGKILL)
    os.waitid(os.P_PIDFD, member.pidfd, os.WEXITED | os.WNOWAIT)
    assert member.reaped() == -signal.SIGKILL


def test_a_process_that_others_have_waited_for_has_ended(member):
    member.signal(signal.SIGKILL)
    os.waitpid(member.pid, 0)
    assert member.reaped() == 0


@pytest.mark.parametrize(("code", "words"), [(-11, "SIGSEGV"), (0, "exit code 0"), (-60, "signal 60")])
def test_codes_in_words(code, words):
    assert told_code(code) == words
