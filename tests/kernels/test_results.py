"""Results of a function become columns as in plain Python."""

from __future__ import annotations

import sys
from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.reference import results as reference
from penstock.kernels.results import results_apart

VALUES = st.one_of(
    st.integers(-(2**64), 2**64),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from([None, [], (1,), 1j, np.float32(1), np.int64(2), np.zeros(2), np.ones((2, 1)), np.zeros(2, "f4")]),
)
NUMBERS = {int: "int64", float: "float64", bool: "bool"}
PLACES = [None, "number", ("float64", 2), ("float32", 2)]


def place(kind, count, first):
    if kind is None:
        return None
    if kind == "number":
        return np.zeros(count, NUMBERS.get(type(first), "int64"))
    return np.zeros((count, kind[1]), kind[0])


def shown(columns):
    if columns is None:
        return None
    return [[type(column), *[(type(value), np.asarray(value).tolist()) for value in column]] for column in columns]


@given(data=st.data(), count=st.integers(1, 70))
def test_columns_equal_those_of_the_plain_twin(data, count):
    kinds = data.draw(st.lists(st.sampled_from(PLACES), max_size=3))
    form = data.draw(st.sampled_from(["dict", "tuple", "one"]))
    one = data.draw(st.lists(VALUES, min_size=len(kinds), max_size=len(kinds)))
    others = data.draw(st.lists(VALUES, min_size=len(kinds), max_size=len(kinds)))
    odd = data.draw(st.sampled_from([None, count // 2]))

    def result(i):
        values = others if i == odd else one
        if form == "dict":
            return {str(k): value for k, value in enumerate(values)}
        return tuple(values) if form == "tuple" else (values or [None])[0]

    if form == "one":
        kinds = (kinds or [None])[:1]
    keys = [str(k) for k in range(len(kinds))] if form == "dict" else len(kinds) if form == "tuple" else None
    firsts = one if count // 2 or odd is None else others
    firsts = [*firsts, None] if form == "one" else firsts
    native, plain = ([place(*each) for each in zip(kinds, [count] * 3, firsts, strict=False)] for _ in range(2))
    made = results_apart(result, list(range(count)), result(0), keys, native)
    assert shown(made) == shown(reference.results_apart(result, list(range(count)), result(0), keys, plain))
    if made is not None:
        assert all(column is given for column, given in zip(made, native, strict=True) if given is not None)


@pytest.mark.parametrize("other", [OrderedDict(x=1), [1], None, {"y": 1}, {}, {"x": 1, "y": 2}, {"x": 1.0}])
def test_results_that_differ_give_nothing(other):
    results = {0: {"x": 1}, 1: other}
    assert results_apart(results.__getitem__, [0, 1], results[0], ["x"], [np.zeros(2, np.int64)]) is None


def test_keys_may_come_in_any_order():
    results = [{"x": 1, "y": 2}, {"y": 4, "x": 3}]
    columns = results_apart(dict, results, results[0], ["y", "x"], [np.zeros(2, np.int64), np.zeros(2, np.int64)])
    assert [column.tolist() for column in columns] == [[2, 4], [1, 3]]


def test_elements_that_are_tuples_give_nothing():
    assert results_apart(len, ["ab", ("a", "b")], 2, None, [np.zeros(2, np.int64)]) is None


def test_a_call_that_fails_gives_nothing_but_an_interrupt_is_raised():
    def fails(error):
        raise error

    assert results_apart(fails, [None, KeyError("x")], "", None, [None]) is None
    with pytest.raises(KeyboardInterrupt):
        results_apart(fails, [None, KeyboardInterrupt()], "", None, [None])


@pytest.mark.parametrize(
    "array", [np.zeros((2, 2))[:, 0], np.zeros(2, ">f8"), np.zeros(3), np.zeros((1, 2)), [0.0, 0.0]]
)
def test_arrays_that_do_not_fit_their_place_give_nothing(array):
    rows = [np.ones(2), array]
    assert results_apart(lambda x: x, rows, rows[0], None, [np.zeros((2, 2))]) is None


@pytest.mark.parametrize("shape", [(2,), (1, 2), (2, 2, 1), (2, 3)])
def test_places_of_another_shape_give_nothing(shape):
    rows = [np.ones(2), np.ones(2)]
    assert results_apart(lambda x: x, rows, rows[0], None, [np.zeros(shape)]) is None


def test_read_only_places_are_not_written_to():
    memory = np.zeros((1, 2))
    memory.flags.writeable = False
    assert results_apart(lambda x: x, [np.ones(2)], np.ones(2), None, [memory]) is None
    assert memory.tolist() == [[0, 0]]


def test_each_text_gains_one_reference():
    rows = [{"name": f"a{i}"} for i in range(5)]
    before = [sys.getrefcount(row["name"]) for row in rows]
    columns = results_apart(dict, rows, dict(rows[0]), ["name"], [None])
    assert columns == [["a0", "a1", "a2", "a3", "a4"]]
    assert [sys.getrefcount(row["name"]) for row in rows] == [count + 1 for count in before]
    del columns
    assert [sys.getrefcount(row["name"]) for row in rows] == before
