"""The thread that answers: what it answers, to whom, and when it ends."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading

import pytest

from penstock import Dataset, Options
from penstock.watch.top import server as servers
from penstock.watch.top.client import ask, change
from penstock.watch.top.folder import sockets
from penstock.watch.top.published import publisher


@pytest.fixture
def a_pass():
    it = Dataset.range(1000).map(str).batch(2).iterator()
    next(it)
    yield it
    it.close()


def descriptors():
    return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0


def test_the_server_tells_what_the_process_runs(serving, a_pass):
    serving()
    (path,) = sockets()
    answer = ask(path, {"do": "show"})
    assert answer["pid"] == os.getpid()
    assert answer["command"] == sys.orig_argv
    assert a_pass._published.number in [each["number"] for each in answer["passes"]]


@pytest.mark.parametrize("request_", [b"{}\n", b'{"do": "explode"}\n', b"not json\n", b"[1]\n", b'{"do": ["show"]}\n'])
def test_a_wrong_request_is_answered_with_an_error(serving, a_pass, request_):
    serving()
    (path,) = sockets()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(request_)
        answer = json.loads(connection.makefile().readline())
    assert answer.keys() == {"error"}
    assert ask(path, {"do": "show"})["pid"] == os.getpid()


@pytest.mark.parametrize("request_", [b"", b"x" * (servers.MOST_ASKED + 1), b'{"do": "sh'])
def test_requests_without_an_end_do_not_hold_up_others(serving, a_pass, request_, monkeypatch):
    monkeypatch.setattr(servers, "PATIENCE_OF_SERVER", 0.01)
    serving()
    (path,) = sockets()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        connection.sendall(request_)
        assert ask(path, {"do": "show"})["pid"] == os.getpid()


def test_another_user_gets_no_answer(serving, a_pass, monkeypatch):
    serving()
    (path,) = sockets()
    monkeypatch.setattr(servers, "_user_of", lambda connection: os.getuid() + 1)
    with pytest.raises((ValueError, OSError)):
        ask(path, {"do": "show"})


def test_nothing_is_left_of_a_server_that_is_closed(serving, folder):
    it = Dataset.range(9).iterator()
    next(it)
    before = descriptors()
    server = serving()
    server.close()
    assert not server.thread.is_alive()
    assert os.listdir(folder) == []
    assert descriptors() == before
    server.close()


def test_a_server_ends_when_no_pass_is_under_way(serving, folder, monkeypatch):
    monkeypatch.setattr(servers, "LOOK_AROUND", 0.001)
    monkeypatch.setattr(publisher, "under_way", lambda: [None])  # until the test has the server
    before = descriptors()
    server = serving()
    monkeypatch.setattr(publisher, "under_way", list)
    server.thread.join(60)
    assert not server.thread.is_alive()
    assert publisher.server is None
    assert os.listdir(folder) == []
    assert descriptors() == before


def test_a_process_without_a_folder_has_no_server_and_goes_on(serving, folder, monkeypatch):
    monkeypatch.setenv("PENSTOCK_TOP", os.path.join(folder, "missing", "deeper"))
    server = serving()
    server.thread.join(60)
    assert not server.thread.is_alive()
    publisher.serve()
    assert publisher.server is server, "not tried again and again"


def test_a_path_that_is_too_long_for_a_socket_is_no_error(serving, folder, monkeypatch):
    monkeypatch.setenv("PENSTOCK_TOP", os.path.join(folder, "x" * 120))
    server = serving()
    server.thread.join(60)
    assert os.listdir(os.path.join(folder, "x" * 120)) == []


def test_a_consumer_that_waits_is_seen(serving):
    entered, leave = threading.Event(), threading.Event()

    def stall(x):
        entered.set()
        assert leave.wait(60)
        return x

    it = Dataset.range(2).map(stall).iterator()
    consumer = threading.Thread(target=lambda: list(it))
    consumer.start()
    assert entered.wait(60)
    serving()
    (path,) = sockets()
    passes = ask(path, {"do": "show"})["passes"]
    leave.set()
    consumer.join()
    assert [each["glance"]["waiting"] > 0 for each in passes if each["number"] == it._published.number] == [True]


def test_a_pass_is_paused_and_changed(serving):
    it = Dataset.range(1000).map(str).with_options(Options(executor="threads", workers=2)).batch(2).iterator()
    next(it)
    number = it._published.number
    serving()
    (path,) = sockets()
    done, refused = change(path, {"pause": 1}, number)
    assert (done, refused) == ([f"pass {number}, batch(2): paused"], [])
    assert it._run.session.controls.paused
    assert change(path, {"resume": 1, "workers": 3, "memory_budget": 5000}, number)[1] == []
    assert not it._run.session.controls.paused
    assert len(list(it)) == 499
    assert it.stats().mode == "3 threads"
    assert it.stats().budget == 5000
    done, refused = change(path, {"pause": 1}, number)
    assert (done, len(refused)) == ([], 1)
    assert refused[0].startswith(f"no pass {number} is under way")  # others of this process may be


def test_changes_that_are_impossible_are_refused_with_the_reason(serving):
    it = Dataset.range(1000).map(str).with_options(Options(executor="inline")).iterator()
    next(it)
    number = it._published.number
    serving()
    (path,) = sockets()
    done, refused = change(path, {"workers": 3, "pause": 1}, number)
    assert done == [f"pass {number}, map(str): paused"]
    assert refused[0].endswith("not possible, it is inline, as its options or functions require")
    assert change(path, {"workers": 0}, number)[1] == ["workers: expected a whole number of at least 1"]
    assert "error" in ask(path, {"do": "change", "pass": number, "workers": "many"})
    it.close()


def test_all_passes_of_a_process_are_changed_together(serving):
    passes = [Dataset.range(1000).map(str).iterator() for _ in range(2)]
    for each in passes:
        next(each)
    serving()
    (path,) = sockets()
    assert len(change(path, {"pause": 1})[0]) >= 2
    assert all(each._run.session.controls.paused for each in passes)
    change(path, {"resume": 1})
    for each in passes:
        assert len(list(each)) == 999
