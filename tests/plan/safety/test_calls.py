from __future__ import annotations

import functools
import threading

import numpy as np
import pytest

import penstock as ps
from penstock.plan.safety.calls import Calls, alone, turns_of

D = ps.Dataset


class Lazy:
    """Opens what it reads at the first call."""

    def __init__(self, path):
        self.path = path
        self.__dict__["file"] = None

    def __call__(self, x):
        if self.file is None:
            self.__dict__.update(file=open(self.path, "rb"))  # noqa: SIM115
        return x


def test_the_first_call_reveals_changes_that_the_code_does_not_show(tmp_path):
    buffer = np.zeros(3)
    copy_into = np.copyto  # by another name

    def writes(x):
        copy_into(buffer, x)
        return buffer.sum()

    calls = Calls(writes, None)
    assert not calls.settled
    assert calls(2) == 6
    assert calls.settled
    assert calls.turns is not None
    assert turns_of(writes) is not None  # as long as somebody calls it
    free = Calls(lambda x: buffer * x, None)
    free(1)
    assert free.settled


def test_the_second_call_reveals_what_the_first_did_not_change():
    state = [0]

    def put(where, x):
        where[0] = x

    def writes(x):
        args = (state, x)
        put(*args)
        return state[0]

    calls = Calls(writes, None)
    assert [calls(0), calls.settled, calls(1), calls.settled] == [0, False, 1, True]
    assert calls.turns is not None


class Keeps:
    def keep(self, x):
        self.last = x


class KeepsByItsParent(Keeps):
    def __call__(self, x):
        super().keep(x)
        return self.last


def test_the_second_call_changes_what_the_first_has_made():
    calls = Calls(KeepsByItsParent(), None)
    assert [calls(1), calls(2)] == [1, 2]
    assert calls.turns is not None


def test_objects_opened_by_the_first_call_are_found(tmp_path):
    (tmp_path / "rows").write_bytes(b"rows")
    lazy = Lazy(tmp_path / "rows")
    calls = Calls(lazy, None)
    assert calls.turns is None
    calls(1)
    assert calls.turns is not None
    lazy.file.close()


def test_operations_of_penstock_are_safe():
    for node in (
        D.range(3).map(ps.image.normalize(0.5, 0.5))._plan,
        D.from_tensor_slices(np.zeros(3))._plan,
        D.from_source([1, 2])._plan,
    ):
        assert alone(node) is None


def test_an_unknown_source_is_read_by_one_thread():
    class Guessing:
        def __len__(self):
            return 9

        def __getitem__(self, i):
            return getattr(self, "rows")[i]  # noqa: B009

    class Plain(Guessing):
        rows = tuple(range(9))

        def __getitem__(self, i):
            return self.rows[i]

    assert "several threads may not be able to read a Guessing" in alone(D.from_source(Guessing())._plan).why
    assert alone(D.from_source(Guessing(), thread_safe=True)._plan) is None
    assert alone(D.from_source(Plain())._plan) is None
    assert alone(D.from_source(Plain(), thread_safe=False)._plan) is not None


class Reader:
    """Works on what it keeps."""

    def __init__(self, name="a"):
        self.name = name

    def get(self, x):
        self.x = x
        return self.x


MADE = {}


@functools.lru_cache
def reader():
    return Reader()


@functools.cache
def reader_of(name):
    return Reader(name)


def made(name):
    if name not in MADE:
        MADE[name] = Reader(name)
    return MADE[name]


@functools.cache
def of_this_thread():
    return threading.local()


@functools.cache
def table():
    return np.arange(9)


def of_each_thread(x):
    return reader_of(threading.get_ident()).get(x)


@pytest.mark.parametrize(
    "function",
    [lambda x: reader().get(x), lambda x: reader_of("a").get(x), lambda x: made("a").get(x)],
    ids=["lru_cache", "cache", "dict"],
)
def test_an_object_made_by_the_first_call_and_shared_later_is_found(function):
    for cached in (reader, reader_of):
        cached.cache_clear()
    MADE.clear()
    calls = Calls(function, None)
    assert calls.turns is None
    assert calls(3) == 3
    assert calls.turns is not None
    assert "writes `Reader.x`" in alone(D.range(3).map(function)._plan).why
    assert Calls(function, None).turns is not None


def test_results_kept_per_thread_or_only_read_are_safe():
    for function in (keeps_for_its_thread, lambda x: table()[x], of_each_thread):
        calls = Calls(function, None)
        calls(3)
        assert calls.turns is None
        assert alone(D.range(3).map(function)._plan) is None


def keeps_for_its_thread(x):
    of_this_thread().x = x
    return of_this_thread().x
