from __future__ import annotations

import os
import socket
import tempfile
import threading

import pytest

from penstock.transport.channel import Channel


@pytest.fixture
def ends():
    """The end of a parent, which never waits, and that of a worker, which does."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield Channel(ours, waits=False), Channel(theirs, waits=True)


def test_messages_come_whole_and_in_order(ends):
    parent, worker = ends
    for number in range(3):
        assert parent.send(("task", number), b"x" * number)
    messages = worker.receive()
    got = [next(messages) for _ in range(3)]
    assert [(each.head, bytes(each.tail)) for each in got] == [(("task", n), b"x" * n) for n in range(3)]


def test_the_parent_gets_what_is_there_and_does_not_wait(ends):
    parent, worker = ends
    assert list(parent.receive()) == []
    worker.send(("ready",))
    assert [each.head for each in parent.receive()] == [("ready",)]


@pytest.mark.parametrize("size", [1 << 10, 1 << 22])
def test_a_message_that_does_not_fit_follows_when_there_is_room(size, ends):
    parent, worker = ends
    data = os.urandom(size)
    parent.send(("task", 1), data)
    parent.send(("task", 2), b"after")
    messages, got = worker.receive(), []

    def read():
        got.extend(next(messages) for _ in range(2))

    thread = threading.Thread(target=read)
    thread.start()
    while not parent.flush():
        pass
    thread.join(20)
    assert bytes(got[0].tail) == data
    assert got[1].head == ("task", 2)


def test_a_long_tail_arrives_in_pieces(ends):
    parent, worker = ends
    data = os.urandom(1 << 22)
    thread = threading.Thread(target=worker.send, args=(("made", 1), data))
    thread.start()
    got = []
    while not got:
        got += parent.receive()
    thread.join(20)
    assert bytes(got[0].tail) == data


def test_a_descriptor_comes_with_its_message(ends):
    parent, worker = ends
    with tempfile.TemporaryFile() as file:
        file.write(b"plan")
        file.flush()
        parent.send(("task", 1))
        parent.send(("plan", 5, None, True), b"tail", file.fileno())
    messages = worker.receive()
    assert next(messages).descriptor == -1
    message = next(messages)
    assert os.pread(message.descriptor, 9, 0) == b"plan"
    assert not os.get_inheritable(message.descriptor)
    os.close(message.descriptor)


def test_the_end_of_the_other_side_is_seen(ends):
    parent, worker = ends
    worker.send(("last",))
    worker.end()
    messages = parent.receive()
    assert next(messages).head == ("last",)
    with pytest.raises(EOFError):
        next(messages)
    with pytest.raises(OSError, match="pipe"):
        parent.send(("task", 1))


def test_a_channel_has_ended_even_if_messages_wait_in_it(ends):
    parent, worker = ends
    parent.send(("task", 1), b"x")
    assert not worker.has_ended
    parent.end()
    assert worker.has_ended
    assert next(worker.receive()).head == ("task", 1)


def test_an_end_of_requests_is_no_end_of_the_connection(ends):
    parent, worker = ends
    parent.send(("last",))
    parent.end_requests()
    messages = worker.receive()
    assert next(messages).head == ("last",)
    with pytest.raises(EOFError):
        next(messages)
    worker.send(("answer",))
    assert [each.head for each in parent.receive()] == [("answer",)]
    waiting = threading.Thread(target=worker.wait_for_close)
    waiting.start()
    copy = os.dup(parent.fileno())
    parent.close()
    waiting.join(0.01)
    assert waiting.is_alive()
    os.close(copy)
    waiting.join(20)
    assert not waiting.is_alive()
