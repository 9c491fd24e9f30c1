"""A cache of recent values: each made once for all callers, within a byte limit."""

from __future__ import annotations

import os
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from penstock.storage.recent import Recent


def test_each_key_comes_once_with_its_value():
    recent = Recent(lambda key: np.full(2, key), 1 << 20)
    assert {key: value.tolist() for key, value in recent.each([3, 1, 3])} == {3: [3, 3], 1: [1, 1]}
    assert list(recent.each([])) == []


def test_cached_values_are_made_once_and_stay_within_the_bytes():
    made = Counter()

    def make(key):
        made[key] += 1
        return np.zeros(10, np.uint8)

    recent = Recent(make, 30)
    for key in (1, 2, 3, 1, 4, 1, 2):  # 2 is the one used least when 4 comes
        list(recent.each([key]))
        assert recent.nbytes <= 30
    assert made == {1: 1, 2: 2, 3: 1, 4: 1}


def test_one_value_is_kept_however_large_it_is():
    made = Counter()

    def make(key):
        made[key] += 1
        return np.zeros(1000, np.uint8)

    recent = Recent(make, 10)
    assert [len(list(recent.each([5]))) for _ in range(3)] == [1, 1, 1]
    assert made == {5: 1}


def test_values_that_others_wait_for_are_not_made_twice():
    made = Counter()
    begun, may_end = threading.Event(), threading.Event()

    def make(key):
        made[key] += 1
        if key == 0:
            begun.set()
            assert may_end.wait(30)
        return np.zeros(10, np.uint8)

    recent = Recent(make, 10)  # one value
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: list(recent.each([0])))
        assert begun.wait(30)
        waits = recent.each([0, 1])  # takes 0 from the other thread, after 1
        assert next(waits)[0] == 1
        other = threads.submit(lambda: list(recent.each([1])))
        other.result(30)
        may_end.set()
        first.result(30)
        list(recent.each([2]))  # would displace 0
        assert next(waits)[0] == 0
    assert made == {0: 1, 1: 1, 2: 1}
    assert recent.nbytes <= 10


def test_values_that_many_wait_for_take_at_most_the_bytes_again():
    recent = Recent(lambda key: np.zeros(10, np.uint8), 20)
    reader = recent.each(range(10))
    assert next(reader)[0] == 0
    for key in range(1, 10):  # all of them awaited by the reader
        list(recent.each([key]))
        assert recent.nbytes <= 40
    assert {key for key, _ in reader} == set(range(1, 10))
    assert recent.nbytes <= 20


def test_a_call_that_is_left_waits_for_nothing():
    recent = Recent(lambda key: np.zeros(10, np.uint8), 10)
    reader = recent.each([0, 1, 2])
    next(reader)
    reader.close()
    for key in (1, 2, 3):
        list(recent.each([key]))
        assert recent.nbytes <= 10


def test_retired_values_go_first():
    recent = Recent(lambda key: np.zeros(10, np.uint8), 20)
    list(recent.each([1, 2]))
    recent.retire(2)
    recent.retire(7)
    list(recent.each([3]))
    assert recent.missing([1, 2, 3]) == [2]


def test_threads_share_the_work_and_make_no_value_twice():
    made = Counter()
    together = threading.Barrier(4)

    def make(key):
        made[key] += 1
        together.wait(30)  # all four make something at the same time, or this ends in an error
        return np.array([key])

    recent = Recent(make, 1 << 20)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: dict(recent.each(range(8))), range(4)))
    assert all({key: value.tolist() for key, value in each.items()} == {k: [k] for k in range(8)} for each in found)
    assert made == dict.fromkeys(range(8), 1)


def test_a_thread_that_waits_for_a_failed_value_tries_itself():
    begun, go = threading.Event(), threading.Event()
    calls = []

    def make(key):
        calls.append(key)
        if len(calls) == 1:
            begun.set()
            go.wait(30)
            raise OSError("once")
        return np.array([key])

    recent = Recent(make, 1 << 20)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(lambda: list(recent.each([7])))
        begun.wait(30)
        second = threads.submit(lambda: list(recent.each([7])))
        go.set()
        with pytest.raises(OSError, match="once"):
            first.result(30)
        assert [key for key, _ in second.result(30)] == [7]
    assert calls == [7, 7]


def test_a_forked_child_does_not_wait_for_the_parents_threads():
    begun, go = threading.Event(), threading.Event()

    def make(key):
        if not begun.is_set():
            begun.set()
            go.wait(30)
        return np.array([key])

    recent = Recent(make, 1 << 20)
    thread = threading.Thread(target=lambda: list(recent.each([1])))
    thread.start()
    begun.wait(30)
    recent._process = -1  # as it is for a child: this process did not begin it
    assert [key for key, _ in recent.each([1])] == [1]
    assert recent._process == os.getpid()
    go.set()
    thread.join(30)
