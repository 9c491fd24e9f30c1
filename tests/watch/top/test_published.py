"""The passes of a process that others may look at, and when the server begins."""

from __future__ import annotations

import gc
import os
import socket
import threading

import pytest

from penstock import Dataset
from penstock.core import surroundings
from penstock.dataset import iterator as iterators
from penstock.watch.top import published
from penstock.watch.top.client import processes_seen
from penstock.watch.top.published import publisher


def ours(it):
    return [each for each in publisher.under_way() if each is it._published]


def test_a_pass_is_under_way_from_its_first_item_to_its_end():
    it = Dataset.range(3).iterator()
    assert it._published is None
    next(it)
    assert len(ours(it)) == 1
    assert ours(it)[0].glance().stats.items == 1
    assert len(list(it)) == 2
    assert ours(it) == []


def test_a_pass_that_is_dropped_is_forgotten():
    it = Dataset.range(3).iterator()
    next(it)
    number = it._published.number
    del it
    gc.collect()
    assert number not in [each.number for each in publisher.under_way()]


def test_passes_are_numbered_in_their_order():
    first, second = Dataset.range(3).iterator(), Dataset.range(3).iterator()
    next(first), next(second)
    assert first._published.number < second._published.number
    found = publisher.under_way()
    assert found.index(first._published) < found.index(second._published)


def test_a_pass_that_lasts_is_served(folder, monkeypatch):
    monkeypatch.setattr(published, "SERVED_AFTER", -1)
    monkeypatch.setattr(iterators, "LOOK_AFTER", 0)
    it = Dataset.range(100).map(str).iterator()
    next(it)
    assert publisher.server.ready.wait(60)
    (seen,) = processes_seen()
    assert it._published.number in [each.number for each in seen.passes]


@pytest.mark.parametrize("reason", ["environment", "worker"])
def test_nobody_looks_at_a_process_that_is_not_to_be_seen(folder, monkeypatch, reason):
    if reason == "environment":
        monkeypatch.setenv("PENSTOCK_TOP", "0")
    else:
        monkeypatch.setattr(surroundings._Role, "makes", "tasks")
    publisher.serve()
    assert publisher.server is None
    assert os.listdir(folder) == []


@pytest.mark.parametrize("error", [OSError(24, "Too many open files"), RuntimeError("can't start new thread")])
def test_a_process_without_descriptors_or_threads_runs_as_ever(folder, monkeypatch, error):
    def fail(*_):
        raise error

    place, name = (socket, "socketpair") if isinstance(error, OSError) else (threading.Thread, "start")
    with monkeypatch.context() as patched:
        patched.setattr(place, name, fail)
        publisher.serve()
    assert publisher.server is None
    publisher.serve()
    assert publisher.server.ready.wait(60)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_serve_for_its_parent(serving, folder):
    it = Dataset.range(100).iterator()
    next(it)
    before = serving()
    names = os.listdir(folder)
    child = os.fork()
    if child == 0:
        own = publisher.server is None and before.thread.is_alive() is False
        os._exit(0 if own else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert publisher.server is not before
    assert publisher.server.ready.wait(60)
    (seen,) = processes_seen()
    assert seen.pid == os.getpid()
    assert os.listdir(folder) != names, "the parent's socket is a new one"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_seen_by_its_own_passes(folder):
    it = Dataset.range(100).iterator()
    next(it)
    asks, told = os.pipe()
    ends, end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        next(it)
        publisher.serve()
        publisher.server.ready.wait(60)
        os.write(told, b"1")
        os.read(ends, 1)
        publisher.server.close()
        os._exit(0)
    os.read(asks, 1)
    (seen,) = processes_seen()
    os.close(end)
    os.waitpid(child, 0)
    for each in (asks, told, ends):
        os.close(each)
    assert seen.pid == child
    assert [each.glance.stats.items for each in seen.passes if each.number == it._published.number] == [2]
    assert os.listdir(folder) == []
