"""Looks at other processes: those that run, were killed, do not answer, or are of another version."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading

import pytest

from penstock.watch.top import client as clients
from penstock.watch.top.client import ask, processes_seen

PROGRAM = """
import sys
import penstock as ps
from penstock.watch.top.published import publisher

it = ps.Dataset.range(1000).map(str).batch(10).iterator()
next(it)
publisher.serve()
publisher.server.ready.wait(60)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def job(folder):
    begun = subprocess.Popen([sys.executable, "-c", PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert begun.stdout.readline() == b"ready\n"
    yield begun
    begun.kill()
    begun.communicate()


def test_a_process_is_seen_until_it_ends(job, folder):
    (seen,) = processes_seen()
    assert (seen.pid, seen.failed) == (job.pid, "")
    assert seen.command[-2:] == ("-c", PROGRAM)
    (one,) = seen.passes
    assert (one.name, one.glance.reached, one.glance.total) == ("batch(10)", 1, 100)
    job.communicate(timeout=60)
    assert processes_seen() == []
    assert os.listdir(folder) == [], "the process has removed its socket"


def test_the_socket_of_a_process_that_was_killed_is_removed(job, folder):
    job.kill()
    job.wait(60)
    (name,) = os.listdir(folder)
    assert ask(os.path.join(folder, name), {"do": "show"}) is None
    assert os.listdir(folder) == []
    assert processes_seen() == []
    assert ask(os.path.join(folder, name), {"do": "show"}) is None


@pytest.fixture
def answering(folder):
    """Answer the next connection with some bytes, as another process would."""
    threads = []

    def begin(answer, name="77-x.sock"):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(folder, name))
        listener.listen()

        def work():
            with listener:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(1 << 16)
                    if answer is not None:
                        connection.sendall(answer)
                    else:
                        connection.recv(1)  # until the other end gives up

        threads.append(threading.Thread(target=work))
        threads[-1].start()

    yield begin
    for thread in threads:
        thread.join(60)


@pytest.mark.parametrize("answer", [b"", b"garbage\n", b"[1]\n", b"\xff\n", None])
def test_a_process_without_a_readable_answer_is_named(answering, answer, monkeypatch):
    monkeypatch.setattr(clients, "PATIENCE_OF_CLIENT", 0.1)
    answering(answer)
    (seen,) = processes_seen()
    assert seen.pid == 77
    assert seen.failed.startswith("does not answer: ")


@pytest.mark.parametrize("passes", [[{"number": 1}], [3], 3, {"a": 1}])
def test_an_answer_of_another_version_is_named(answering, passes):
    answering(json.dumps({"penstock": "99.0", "pid": 77, "command": [], "passes": passes}).encode() + b"\n")
    (seen,) = processes_seen()
    assert seen.failed == "runs Penstock 99.0, whose answer this version cannot read"


def test_a_change_of_a_process_that_is_gone_or_silent_says_so(job, folder, answering):
    (name,) = os.listdir(folder)
    path = os.path.join(folder, name)
    assert clients.change(path, {"pause": 1})[1] == []
    job.kill()
    job.wait(60)
    assert clients.change(path, {"pause": 1}) == ([], ["the process has ended"])
    answering(b"garbage\n")
    (refused,) = clients.change(os.path.join(folder, "77-x.sock"), {"pause": 1})[1]
    assert refused.startswith("the process does not answer: ")
