"""Messages of a worker process that are looked at before their turn, and the rows that are announced then."""

from __future__ import annotations

import socket
from queue import SimpleQueue
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.engine.tasks.task import NOTHING, Task
from penstock.engine.workers.processes.travel import Travelling
from penstock.engine.workers.processes.worker import Inbox, Server
from penstock.plan.flow import Piece
from penstock.transport.channel import Channel, Message


@pytest.fixture
def pair():
    """The two ends of a channel."""
    ends = socket.socketpair()
    yield tuple(Channel(each, waits=True) for each in ends)
    for each in ends:
        each.close()


def test_messages_are_seen_before_their_turn(pair):
    sender, receiver = pair
    inbox, seen = Inbox(receiver), SimpleQueue()
    messages = iter(inbox)
    sender.send(("task", 1))
    assert next(messages).head == ("task", 1)
    inbox.look_ahead(seen.put)
    inbox.look_ahead(seen.put)  # once is enough
    for number in (2, 3):
        sender.send(("task", number))
    assert [seen.get(timeout=60).head for _ in range(2)] == [("task", 2), ("task", 3)]
    assert [next(messages).head for _ in range(2)] == [("task", 2), ("task", 3)]
    sender.end()
    with pytest.raises(EOFError):
        next(messages)


def task(rows, *, packet=None, part=None):
    """Return the message of a task."""
    given = None if packet is None else (packet, None)
    sent = Travelling(1, Task(0, 2, Piece(NOTHING, rows), part=part), given, None, (0, 0))
    return Message(("task", 7, sent), b"", -1)


def test_rows_of_a_task_are_announced_unless_another_may_read_them(pair):
    server, told = Server(pair[1], Inbox(pair[1]), None, 0, 0), []
    rows = np.array([4, 2])
    server.announce(task(rows))  # its plan is not loaded
    server._plans._loaded[1] = SimpleNamespace(tell=told.append), None
    server.announce(Message(("forget", 1), b"", -1))
    server.announce(task(rows, packet="elements"))
    server.announce(task(rows, part=(0, 1)))
    assert told == []
    server.announce(task(rows))
    assert told == [rows]
    server._plans._loaded[1] = SimpleNamespace(tell=lambda rows: 1 / 0), None
    server.announce(task(rows))  # left to the task itself
