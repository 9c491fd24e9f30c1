"""Changes of single fields in words."""

from __future__ import annotations

import functools
from types import ModuleType

import numpy as np
import pytest

from penstock import Dataset, image
from penstock.plan.changes import changes_of_field


def told(one, other, name="function"):
    return changes_of_field(name, (one, other))


def scaled(scale):
    return lambda x: x * scale


def in_module(text):
    module = ModuleType("of_the_user")
    exec(text, vars(module))
    return module


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        (3, 4, "count: 3 → 4"),
        (None, "a", "count: None → 'a'"),
        (np.zeros(3), np.ones(3), "count: float64[3]: 3 of 3 values differ, first at [0]: 0.0 → 1.0"),
        (np.zeros(3), np.zeros((3, 1)), "count: float64[3] → float64[3, 1]"),
        (np.zeros(1), -np.zeros(1), "count: float64[1] differs in the bits of equal values"),
    ],
)
def test_values_are_told_before_and_after(one, other, wanted):
    assert changes_of_field("count", (one, other)) == [wanted]


def test_values_that_a_function_closes_over_are_told():
    assert told(scaled(2), scaled(3)) == ["scale (closed over by lambda) is 3 and was 2"]


def test_code_is_told_as_a_diff_of_the_source():
    one, other = (lambda x: x + 1), (lambda x: x + 2)
    assert told(one, other)[-2:] == ["-lambda x: x + 1", "+lambda x: x + 2"]


def test_a_function_that_another_one_calls_is_told():
    text = "def inner(x):\n    return x + {}\ndef outer(x):\n    return inner(x)\n"
    lines = told(in_module(text.format(1)).outer, in_module(text.format(2)).outer)
    assert lines == ["the function inner: its code differs, and its source cannot be found", "  constants: 1 → 2"]


def test_code_without_source_is_told_by_its_constants_and_names():
    one, other = in_module("def f(x):\n    return x.real + 1"), in_module("def f(y):\n    return y.imag + 7")
    assert told(one.f, other.f) == [
        "the function f: its code differs, and its source cannot be found",
        "  constants: 1 → 7",
        "  names: real, x → imag, y",
    ]


def test_a_global_that_a_function_reads_is_told():
    text = "MEAN = {}\ndef f(x):\n    return x - MEAN"
    assert told(in_module(text.format(1.5)).f, in_module(text.format(2.5)).f) == [
        "MEAN (read by f) is 2.5 and was 1.5",
    ]


def test_the_parts_of_callable_objects_are_told():
    assert told(functools.partial(pow, 2), functools.partial(pow, 3)) == ["argument 0: 2 → 3"]
    assert told(functools.partial(int, base=2), functools.partial(int)) == ["base: 2 → 'nothing'"]
    assert told(image.random_crop(8), image.random_crop(9)) == ["size: (8, 8) → (9, 9)"]
    assert told(functools.partial(pow, 2), abs) == [
        "partial (partial) of pow (builtin_function_or_method) → abs (builtin_function_or_method)"
    ]
    assert told(abs, float)[0] == "abs (builtin_function_or_method) → float (type)"


def test_data_is_told_leaf_by_leaf():
    def source(value):
        return Dataset.from_tensor_slices(value)._plan.source

    pairs = [
        ({"a": [1, 2], "b": ["x", "y"]}, {"a": [1, 3], "b": ["x", "z"]}),
        (np.arange(3), np.arange(4)),
        ({"a": [1]}, {"b": [1]}),
    ]
    assert [changes_of_field("source", (source(one), source(other))) for one, other in pairs] == [
        ['data["a"]: int64[2]: 1 of 2 values differ, first at [1]: 2 → 3', "data[\"b\"][1]: 'y' → 'z'"],
        ["data: int64[3] → int64[4]"],
        ['data has another structure: {"a": *} → {"b": *}'],
    ]
    items = [Dataset.from_source(list(range(count)))._plan.source for count in (3, 5)]
    assert changes_of_field("source", items) == ["data has 3 → 5 values"]


def test_files_are_told_by_name(tmp_path):
    import penstock as ps

    for name in "abcde":
        (tmp_path / name).write_text(name)

    def source(names):
        return ps.read_files([str(tmp_path / name) for name in names])._plan

    from penstock.plan.graph import post_order

    def files(names):
        return next(node.source for node in post_order(source(names)) if hasattr(node, "source"))

    assert changes_of_field("source", (files("ab"), files("bc"))) == [f"- {tmp_path / 'a'}", f"+ {tmp_path / 'c'}"]
    assert changes_of_field("source", (files("abcde"), files("a")))[-1] == "- and 1 more files"
    assert changes_of_field("source", (files("ab"), files("ba"))) == ["the files come in another order"]
