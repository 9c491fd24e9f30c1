"""The calls that the thread of a crew is to make."""

from __future__ import annotations

import os
import select
import socket

import pytest

from penstock.engine.workers.processes.errands import Errands


@pytest.fixture
def errands():
    made = Errands()
    yield made
    if made._bell >= 0:
        made.end()


@pytest.fixture
def ends():
    pair = socket.socketpair()
    yield pair
    for each in pair:
        each.close()


def is_woken(errands):
    return bool(select.select([errands._bell], [], [], 0)[0])


def test_errands_are_run_in_order_by_a_thread_that_they_wake(errands):
    done = []
    for number in range(3):
        errands.leave(lambda number=number: done.append(number))
    errands.wait(None)
    assert done == []
    errands.run()
    assert done == [0, 1, 2]
    assert not is_woken(errands)


def test_an_errand_that_is_not_urgent_wakes_the_thread_only_if_that_may_have_something_to_do(errands):
    done = []
    errands.wakes = False
    errands.leave(lambda: done.append("later"), urgent=False)
    assert not is_woken(errands)
    errands.leave(lambda: done.append("now"))
    assert is_woken(errands)
    errands.run()
    assert done == ["later", "now"]
    errands.wakes = True
    errands.leave(lambda: None, urgent=False)
    assert is_woken(errands)


def test_a_source_is_called_while_there_is_something_to_read_or_room_that_is_awaited(errands, ends):
    calls = []
    ours, theirs = ends
    errands.listen(ours.fileno(), lambda: calls.append(1))
    errands.wait(0)
    assert calls == []
    theirs.send(b"x")
    errands.wait(None)
    assert calls == [1]
    ours.recv(1)
    errands.await_room(ours.fileno(), awaited=True)
    errands.wait(None)
    errands.await_room(ours.fileno(), awaited=False)
    errands.wait(0)
    assert calls == [1, 1]
    theirs.send(b"x")
    for _ in range(2):  # the second time, it is ignored already
        errands.ignore(ours.fileno())
    errands.wait(0)
    assert calls == [1, 1]


def test_the_last_errands_are_run_at_the_end_and_later_ones_by_those_who_leave_them(errands):
    done = []
    errands.leave(lambda: done.append("last"))
    errands.end()
    assert done == ["last"]
    errands.leave(lambda: done.append("later"), urgent=False)
    assert done == ["last", "later"]
    with pytest.raises(OSError, match="descriptor"):
        os.close(errands._bell)


def test_a_forked_child_forgets_what_was_left_in_its_parent(errands):
    done = []
    errands.leave(lambda: done.append("left in the parent"))
    errands.after_fork()
    errands.leave(lambda: done.append("left in the child"))
    assert done == ["left in the child"]
    errands.after_fork()  # in a child of the child


def test_a_child_that_is_forked_after_the_end_closes_nothing_twice(errands):
    errands.end()
    errands.after_fork()
