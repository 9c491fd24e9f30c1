from __future__ import annotations

import os
import socket
import threading
from types import SimpleNamespace

import pytest

from penstock.engine.workers.processes.member import RunLine
from penstock.transport.channel import Channel


@pytest.fixture
def line():
    made = RunLine(SimpleNamespace(number=3), "an order")
    yield made
    made.given()
    made.close()


def test_an_answer_comes_to_a_request(line):
    worker = Channel(socket.socket(fileno=os.dup(line.descriptor)), waits=True)
    line.given()
    assert line.descriptor == -1
    assert line.head == ("run", 3, "an order", True)
    worker.send(("piece", 1))
    assert line.ask("please").head == ("piece", 1)
    assert next(worker.receive()).head == "please"
    worker.close()
    assert line.ask("again") is None


def test_the_crew_says_why_a_line_has_ended(line):
    line.over("the worker has ended")
    assert line.ask("please") is None
    assert line.reason() == "the worker has ended"


def test_a_consumer_that_waits_is_woken_by_the_end(line):
    answers = []
    consumer = threading.Thread(target=lambda: answers.append((line.ask("please"), line.reason())))
    consumer.start()
    line.end()
    consumer.join(20)
    assert answers == [(None, None)]
