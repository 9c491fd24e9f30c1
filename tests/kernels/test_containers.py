"""Containers are made anew as plain Python does it."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.containers import remade
from penstock.kernels.reference import containers as reference

LEAVES = st.one_of(st.integers(), st.text(max_size=2), st.booleans(), st.none(), st.floats(), st.complex_numbers())
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=2), inner, max_size=3),
        st.tuples(inner, inner),
    ),
    max_leaves=8,
)


def change_of(cls):
    return (lambda value: ("changed", repr(value))) if cls is complex else None


@given(st.lists(VALUES, max_size=4), st.booleans())
def test_results_equal_those_of_the_plain_twin(values, always):
    before = repr(values)
    made, wanted = remade(values, change_of, always=always), reference.remade(values, change_of, always=always)
    assert repr(made) == repr(wanted)
    assert repr(values) == before
    assert (made is values) == (wanted is values)
    for new, plain, old in zip(made, wanted, values, strict=True):
        assert (new is old) == (plain is old)


def test_unchanged_values_are_returned_as_the_same_object():
    element = {"x": [1, 2], "y": (1, [2])}
    assert remade([element], change_of, always=False)[0] is element
    (copy,) = remade([element], change_of, always=True)
    assert copy == element
    assert copy["y"] is not element["y"]
    assert copy["y"][1] is not element["y"][1]


def test_reference_counts_are_correct():
    leaf = object()
    element = {"x": [leaf, (leaf, [leaf])]}
    before = sys.getrefcount(leaf)
    made = remade([element, element], change_of, always=True)
    assert sys.getrefcount(leaf) == before + 6
    del made
    assert sys.getrefcount(leaf) == before


def test_an_error_of_a_change_is_raised():
    def fail(value):
        raise KeyError(value)

    for values in ([1j], [[1j]], [{"x": 1j}], [(1, 1j)]):
        with pytest.raises(KeyError):
            remade(values, lambda cls: fail if cls is complex else None, always=True)


def test_nesting_without_end_is_an_error():
    for endless in ([], {}):
        inner = (endless,)
        endless.append(inner) if isinstance(endless, list) else endless.update(x=inner)
        with pytest.raises(RecursionError):
            remade([endless], change_of, always=True)


def test_more_types_than_the_cache_holds_are_changed():
    leaves = [type(f"Leaf{number}", (), {})() for number in range(20)]
    made = remade([leaves + leaves], lambda cls: lambda value: cls.__name__, always=False)
    assert made == [[type(leaf).__name__ for leaf in leaves] * 2]
