"""The law: a traced function gives for columns what it gives for each element, or its program steps aside."""

from __future__ import annotations

import pickle
import sys
import types
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings

from penstock import Dataset, Options
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF, flatten
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.plan.safety.imported import Imported
from penstock.tracing.traced import traced
from tests.draws import draws
from tests.tracing.comparing import F8, I8, U1, chunk_of, quietly, trace_of, verify, verify_made
from tests.tracing.expressions import cases

NUMBER = ArraySpec((), I8)


@given(cases())
@settings(max_examples=draws(200))
def test_columns_equal_elements(case):
    function, source, columns = case
    made = quietly(lambda: trace_of(function, columns))
    if made is None:
        return
    elements = chunk_of(columns).elements()
    wanted = quietly(lambda: [function(*each) if type(each) is tuple else function(each) for each in elements])
    if isinstance(wanted, Exception):
        found = quietly(lambda: made.columns(chunk_of(columns), None, np.empty))
        assert found is None, f"{source} raises {wanted!r}, and its columns do not"
        return
    failure = quietly(lambda: verify_made(made, columns, wanted))
    assert isinstance(failure, bool), f"{source}: {failure!r}"


def test_most_valid_random_functions_are_traced():
    counts = {"traced": 0, "run": 0}

    @given(cases())
    @settings(max_examples=draws(80), derandomize=True)
    def count(case):
        function, _, columns = case
        element = chunk_of(columns).element(0)
        run = quietly(lambda: function(*element) if type(element) is tuple else function(element))
        if not isinstance(run, Exception):
            counts["run"] += 1
            counts["traced"] += quietly(lambda: trace_of(function, columns)) is not None

    count()
    assert counts["traced"] > 0.6 * counts["run"] > 0


PAIR = (np.arange(6), np.arange(6.0) / 4)


@pytest.mark.parametrize(
    ("function", "columns"),
    [
        (lambda x: x + 1, np.arange(5)),
        (lambda _: 0, np.arange(5)),
        (lambda _: {"a": 1.5, "b": "text", "c": np.zeros((2, 3)), "d": np.float32(2)}, np.arange(5)),
        (lambda x: x, np.arange(6).reshape(3, 2)),
        (
            lambda image, label: (image.astype(np.float32) / 255, label),
            (np.arange(24, dtype=U1).reshape(2, 4, 3), PAIR[0][:2]),
        ),
        (lambda d: {"x": np.sqrt(d["x"]) * 2, "y": d["y"][:3]}, {"x": PAIR[1], "y": np.arange(24).reshape(6, 4)}),
        (lambda d: {**d, "x": d["x"] * 2}, {"b": PAIR[0], "x": PAIR[1]}),
        (np.sqrt, PAIR[1]),
        (float, PAIR[0]),
        (abs, PAIR[0]),
        (np.float32, PAIR[1]),
    ],
)
def test_typical_functions_are_traced(function, columns):
    verify(function, columns)


def test_functions_may_change_their_element():
    def scaled(element):
        element["x"] = element.pop("x") * 2
        return element

    verify(scaled, {"x": np.arange(3), "a": np.arange(3)})


def test_other_leaves_are_passed_on():
    spec = {"x": NUMBER, "text": ObjectSpec(str), "any": ArraySpec((None, 3), U1)}
    made = traced(lambda d: {"y": d["x"] * 2, "text": d["text"], "any": d["any"]}, spec)
    assert made.made == {"y": NUMBER, "text": ObjectSpec(str), "any": ArraySpec((None, 3), U1)}
    rows = [np.zeros((n, 3), U1) for n in (2, 0, 1)]
    chunk = Columns(flatten({"x": 0, "text": "", "any": 0})[1], [rows, ["a", "b", "c"], np.arange(3)], 3)
    found = made.columns(chunk, None, np.empty).elements()
    assert [(each["y"], each["text"], each["any"] is row) for each, row in zip(found, rows, strict=True)] == [
        (0, "a", True),
        (2, "b", True),
        (4, "c", True),
    ]
    assert traced(lambda d: d["text"] + "!", spec) is None
    assert traced(lambda d: {"is_there": d["text"] is not None, "x": d["x"]}, spec) is None
    assert traced(lambda d: d["any"].sum(), spec) is None


def test_the_spec_is_that_of_the_results():
    made = traced(lambda x: {"half": x / 2, "row": np.arange(3) * x}, NUMBER)
    assert made.made == {"half": ArraySpec((), F8), "row": ArraySpec((3,), I8)}


def test_a_traced_function_can_be_called_and_keeps_its_name():
    def doubled(x):
        return x * 2

    made = traced(doubled, NUMBER)
    assert made(4) == 8
    assert repr(made) == "doubled, traced"
    assert made == traced(doubled, NUMBER)
    assert made != traced(doubled, ArraySpec((), F8))


def test_a_traced_function_is_pickled_as_the_function():
    again = pickle.loads(pickle.dumps(traced(np.negative, NUMBER)))
    assert again.columns(chunk_of(np.arange(3)), None, np.empty).elements() == [0, -1, -2]


@pytest.mark.parametrize(
    "chunk",
    [
        Items([1, 2]),
        Columns(LEAF, [[1, 2]], 2),
        Columns(LEAF, [np.arange(2.0)], 2),
        Columns(LEAF, [np.ones((2, 1), int)], 2),
        Columns(LEAF, [np.arange(0)], 0),
        Columns(flatten((0,))[1], [np.arange(2)], 2),
    ],
)
def test_other_chunks_than_those_of_the_spec_are_left_to_the_function(chunk):
    assert traced(lambda x: x + 1, NUMBER).columns(chunk, None, np.empty) is None


def test_keys_in_another_order_are_left_to_the_function():
    made = traced(lambda d: list(d.values()), {"a": NUMBER, "b": NUMBER})
    for keys, runs in ((("a", "b"), True), (("b", "a"), False)):
        chunk = Columns(flatten(dict.fromkeys(keys, 0))[1], [np.arange(2), np.arange(2)], 2)
        assert (made.columns(chunk, None, np.empty) is not None) is runs


class Tagged(dict):
    pass


@pytest.mark.parametrize("element", [Tagged(a=NUMBER)])
def test_elements_with_code_of_their_own_are_not_traced(element):
    assert traced(lambda d: d["a"] if isinstance(d, dict) else d, element) is None


def test_a_wrong_program_is_detected_and_reported(monkeypatch):
    ds = Dataset.range(10).map(lambda x: x + 1).batch(5).with_options(Options(executor="inline"))
    monkeypatch.setattr("penstock.tracing.traced.Traced.agrees", lambda *_: False)
    with pytest.warns(RuntimeWarning, match=r"^lambda: elements computed in columns.*report it.*vectorized=False"):
        made = [batch.tolist() for batch in ds]
    assert made == [[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]


@pytest.mark.parametrize(
    "other",
    [
        [1, 2],
        [2, 3, 4],
        [2.0, 3.0],
        [np.int64(2), np.int64(3)],
        [(2,), (3,)],
        ["a", 3],
        [np.arange(2), np.arange(2)],
    ],
)
def test_comparison_is_exact(other):
    made = traced(lambda x: x + 2, NUMBER)
    columns = made.columns(chunk_of(np.arange(2)), None, np.empty)
    assert made.agrees(columns, Items([2, 3]))
    assert not made.agrees(columns, Items(other))


def logarithm(x):
    return np.log(x)


@pytest.mark.parametrize("function", [logarithm, partial(logarithm), np.log])
def test_warnings_of_numpy_name_the_function(function):
    made = traced(function, ArraySpec((), F8))
    chunk = chunk_of(np.arange(3.0))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        first, second = (made.columns(chunk, None, np.empty).elements() for _ in range(2))
    assert first[:2] == second[:2] == [-np.inf, 0.0]
    if function is not np.log:
        assert [(str(each.message), each.filename) for each in told] == [
            ("divide by zero encountered in logarithm", __file__)
        ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made.columns(chunk, None, np.empty) is None  # the element at fault is found by calling the function
        with np.errstate(divide="ignore"):
            assert made.columns(chunk, None, np.empty) is not None


def test_workers_need_what_the_function_reads_and_not_its_whole_module(monkeypatch):
    module = types.ModuleType("read_by_traced")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec("SCALE = 2\nunread = 5\ndef scaled(x): return x * SCALE\ndef other(x): return x * unread", vars(module))
    read = []
    for function in (module.scaled, traced(module.scaled, NUMBER)):
        found = Imported()
        found.add(function)
        read.append(({str(place) for place in found.values}, {str(place) for place in found.code}))
    assert read[0] == read[1] == ({"read_by_traced.SCALE"}, {"read_by_traced.scaled.__code__"})
