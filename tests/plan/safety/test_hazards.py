from __future__ import annotations

import io
import random
import sqlite3
import sys
import threading
import zipfile
from collections import Counter, deque

import numpy as np
import pytest

from penstock.plan.safety.hazards import changed_by, grown_by, hazard_of, is_for_threads


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (lambda: io.BytesIO(b"rows"), "file"),
        (lambda: open(__file__), "file"),  # noqa: SIM115
        (lambda: zipfile.ZipFile(io.BytesIO(), "w"), "zip"),
        (lambda: random.Random(0), "random"),
        (lambda: np.random.default_rng(0), "random"),
        (lambda: iter([1]), "iterator"),
        (lambda: (x for x in [1]), "iterator"),
        (lambda: sqlite3.connect(":memory:"), "SQLite"),
    ],
)
def test_objects_with_a_position_or_a_state_are_hazards(make, what):
    thing = make()
    found = hazard_of(thing, "it")
    assert what in found.what
    assert found.here == (what == "SQLite")
    if hasattr(thing, "close"):
        thing.close()


@pytest.mark.parametrize("thing", [None, 1, "text", [1], {"a": 1}, np.zeros(3), sys.stderr, random.SystemRandom()])
def test_plain_data_has_no_hazards(thing):
    assert hazard_of(thing, "it") is None


def test_the_class_that_an_object_claims_to_have_is_not_asked():
    class Strange:
        def __getattribute__(self, name):
            return 2

    assert hazard_of(Strange(), "it") is None


def test_locks_and_thread_local_data_show_awareness_of_threads():
    for thing in (threading.Lock(), threading.RLock(), threading.Event(), threading.local(), threading.Barrier(2)):
        assert is_for_threads(thing)
    assert not is_for_threads([threading.Lock()])


def test_methods_that_change_and_methods_that_only_add_are_distinguished():
    assert changed_by([], "pop")
    assert changed_by(np.zeros(3), "fill")
    assert changed_by(Counter(), "update")
    assert changed_by({}, "update")
    assert not changed_by({}, "setdefault")
    assert not changed_by(np.zeros(3), "sum")
    assert grown_by([], "append")
    assert grown_by(deque(), "appendleft")
    assert not grown_by([], "pop")
