"""Functions that may change read-only arrays; those with PyTorch are in `test_tensors.py`."""

from __future__ import annotations

import operator
from functools import partial

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.plan.safety.read_only import may_change_read_only

add_at = np.add.at


def added(x):
    np.add.at(x, [0, 0], 1)
    return x


def by_alias(x):
    add_at(x, 0, 1)
    return x


def by_local_alias(x):
    add = np.add.at
    add(x, 0, 1)
    return x


def by_helper(x):
    return by_alias(x)


def by_name(x):
    getattr(np.maximum, "at")(x, 0, 9)  # noqa: B009
    return x


def by_ufunc(ufunc):
    def inner(x):
        ufunc.at(x, 0, 9)
        return x

    return inner


def by_argument(x, ufunc=np.subtract):
    ufunc.at(x, 0, 1)
    return x


def by_partial(at, x):
    at(x, 0, 1)
    return x


class Adds:
    def __init__(self):
        self.add = np.add.at

    def __call__(self, x):
        self._added(x)
        return x

    def _added(self, x):
        self.add(x, 0, 1)


class Reshapes:
    def _in_two(self, x):
        x.shape = (-1, 1)
        return x

    def __call__(self, x):
        return self._in_two(x)


def retyped(x):
    x.dtype = np.int64
    return x


CHANGE = [
    *(added, by_alias, by_local_alias, by_helper, by_name, by_argument, Adds(), Adds().__call__, Reshapes(), retyped),
    *(by_ufunc(np.maximum), partial(by_partial, np.add.at), lambda x: next(map(by_alias, [x]))),
]
DO_NOT = [np.add, np.sin, str, lambda x: x.reshape(x.shape), lambda x: x.view(x.dtype), operator.neg]


@pytest.mark.parametrize("function", [*CHANGE, np.add.at])
def test_functions_that_may_change_read_only_arrays_are_found(function):
    assert may_change_read_only(function)


@pytest.mark.parametrize("function", DO_NOT)
def test_functions_that_respect_the_flag_are_not(function):
    assert not may_change_read_only(function)


def twos(_):
    return np.full(2_000, 2.0)


SOURCES = {
    "slices": lambda path: Dataset.from_tensor_slices(np.full((4, 3), 2.0)),
    "list": lambda path: Dataset.from_source([np.full(3, 2.0)] * 2),
    "read-only": lambda path: Dataset.from_source([np.frombuffer(np.full(3, 2.0).tobytes())] * 2),
    "tensors": lambda path: Dataset.from_tensors(np.full(3, 2.0)),
    "memory": lambda path: Dataset.range(3).map(twos).cache(),
    "stream": lambda path: Dataset.range(3).map(twos).filter(lambda x: x.size > 0).cache(),
    "folder": lambda path: Dataset.range(3).map(twos).cache(path),
}


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_such_functions_change_no_source_and_no_cache(source, executor, tmp_path):
    ds = source(tmp_path / "kept").with_options(ps.Options(executor=executor))
    before = [each.tolist() for each in ds]
    for function in CHANGE:
        wanted = [function(each.copy()).tolist() for each in ds]
        for _ in range(2):
            assert [each.tolist() for each in ds.map(function)] == wanted
        assert [(each.tolist(), each.dtype) for each in ds] == [(each, np.float64) for each in before]


def test_a_filter_by_such_a_function_changes_no_row_of_the_source():
    rows = [np.full(3, 2.0)]
    assert len(list(Dataset.from_source(rows).filter(lambda x: added(x)[0] > 3))) == 1
    assert rows[0].tolist() == [2, 2, 2]
