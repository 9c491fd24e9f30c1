"""What a worker process sends on its own account: log records."""

from __future__ import annotations

import logging
import pickle
import threading

import pytest

from penstock.transport.serving import LogSender


class Sent:
    """A channel that keeps what is sent."""

    def __init__(self):
        self.records = []

    def send(self, head):
        self.records.append(pickle.loads(head[1]))


@pytest.fixture
def logger():
    return logging.Logger("of a worker")  # noqa: LOG001 - handlers of pytest raise what they cannot format


@pytest.fixture
def sent(logger):
    """The records that the logger sends."""
    channel = Sent()
    logger.addHandler(LogSender(channel))
    return channel.records


def test_values_of_extra_that_cannot_be_sent_come_as_text(logger, sent):
    lock = threading.Lock()
    logger.warning("held %s", 3, extra={"who": lock, "row": 7})
    (record,) = sent
    assert (record["msg"], record["row"]) == ("held 3", 7)
    assert record["who"].startswith("<unlocked _thread.lock")


class Silent:
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("arguments", [("two %d %d", 1), (Silent(),)])
def test_a_record_that_cannot_be_formatted_is_told_on_standard_error_as_by_any_handler(logger, sent, arguments, capsys):
    logger.warning(*arguments)
    assert sent == []
    assert "--- Logging error ---" in capsys.readouterr().err
