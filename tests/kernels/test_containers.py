"""Containers are made anew as plain Python does it."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.containers import are_parts_of_others, prefetch_dicts, remade
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


def _array(values, step, write):
    array = np.array(values, np.int32)[::step]
    array.flags.writeable = write
    return array


ARRAYS = st.builds(
    _array,
    st.lists(st.integers(0, 9), max_size=4),
    st.sampled_from([1, -1, 2]),
    st.booleans(),
)


def containers(inner):
    return st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=2), inner, max_size=3), st.tuples(inner, inner)
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


@given(st.lists(st.recursive(ARRAYS, containers, max_leaves=6), max_size=4), st.booleans())
def test_arrays_are_sealed_as_by_the_plain_twin(values, always):
    def kinds(value):
        if isinstance(value, dict):
            return {key: kinds(part) for key, part in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(kinds, value))
        flags = value.flags
        return type(value), value.tolist(), value.strides, value.dtype, flags.writeable, flags.owndata

    before = kinds(values)
    made = remade(values, change_of, always=always, seal=True)
    wanted = reference.remade(values, change_of, always=always, seal=True)
    assert kinds(made) == kinds(wanted)
    assert kinds(values) == before
    assert (made is values) == (wanted is values)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])  # the parts of 64 dicts are prefetched at a time
def test_any_number_of_dicts_is_sealed(count):
    values = [{i: np.arange(3) + i, "x": (np.zeros(i), [str(i)])} for i in range(count)]
    values[-1] = "no dict"
    made = remade(values, change_of, always=True, seal=True)
    for i, (new, old) in enumerate(zip(made[:-1], values, strict=False)):
        assert (list(new), new[i].tolist(), new["x"][1]) == (list(old), old[i].tolist(), old["x"][1])
        assert not new[i].flags.writeable
        assert old[i].flags.writeable
        assert new[i].base is old[i]
        assert new["x"][1] is not old["x"][1]
    assert made[-1] == "no dict"


def own_and_shared(kept, inner):
    """Return values of arrays of their own, and values with parts of `kept`, or with a container that others hold."""
    own = [np.ones(3), (np.ones(3), [np.ones(3)[:2]]), {"x": np.ones(3)}]
    return own, [kept, {"x": kept[:1]}, (1, [kept]), {"x": inner}, inner]


@pytest.mark.parametrize("always", [False, True])
def test_arrays_that_nothing_else_refers_to_are_spared(always):
    inner = {"y": np.zeros(2)}
    own, shared = own_and_shared(np.zeros(3), inner)
    values = [*own, *shared]
    del own, shared
    made = remade(values, change_of, always=always, seal=True, spare_own=True)
    one, (two, (three,)), four, *others = made
    assert all(array.flags.writeable for array in (one, two, three, four["x"]))
    five, six, seven, eight, nine = others
    assert not any(a.flags.writeable for a in (five, six["x"], seven[1][0], eight["x"]["y"], nine["y"]))
    assert inner["y"].flags.writeable


def test_values_of_numbers_and_parts_of_others_are_recognized():
    kept, inner, text = np.zeros(3), [np.zeros(2)], "x" * 5000
    own, shared = own_and_shared(kept, inner)
    assert are_parts_of_others([*shared, 1, 2.5, None, True, "short", b"short", np.float32(3), text, [text]])
    while own:
        assert not are_parts_of_others([1, own.pop()])
    assert not are_parts_of_others([object()])
    assert not are_parts_of_others([["x" * len(text)]])


def test_prefetching_changes_nothing():
    values = [{"x": np.arange(i), "y": i} for i in range(70)] + ["text"]
    before = [sys.getrefcount(value) for value in values]
    prefetch_dicts(values)
    assert [sys.getrefcount(value) for value in values] == before


def test_sealed_views_keep_their_array_alive():
    array = np.arange(1000)
    before = sys.getrefcount(array)
    (made,) = remade([{"x": array}], change_of, always=False, seal=True)
    assert sys.getrefcount(array) == before + 1
    del array
    assert made["x"].sum() == 499500


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
