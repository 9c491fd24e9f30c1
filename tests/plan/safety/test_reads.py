"""A change of a value that functions read is noticed, by identity."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.plan.safety.reads import COMPARED_BYTES, COMPARED_ITEMS, Reads


@pytest.mark.parametrize(
    ("thing", "change"),
    [
        ([1, 2], lambda thing: thing.append(3)),
        ([1, 2], lambda thing: thing.__setitem__(0, 1.0)),
        ([1, 2], lambda thing: thing.reverse()),
        ({"a": 1}, lambda thing: thing.update(b=2)),
        ({"a": 1, "b": 2}, lambda thing: thing.update(a=thing.pop("a"))),  # the order
        ({1, 2}, lambda thing: thing.add(3)),
        (np.zeros(3), lambda thing: thing.__setitem__(0, np.nan)),
        (np.zeros(4), lambda thing: thing.resize((2, 2), refcheck=False)),
    ],
)
def test_a_changed_container_is_noticed(thing, change):
    reads = Reads()
    reads.add(thing)
    assert not reads.changed
    change(thing)
    assert reads.changed


def test_a_changed_variable_is_noticed():
    names, value = {"x": 1000}, [1]

    def reader():
        return value

    reads = Reads()
    reads.add_name(names, "x")
    reads.add_cell(reader.__closure__[0])
    assert not reads.changed
    value = [1]
    assert reads.changed
    reads = Reads()
    reads.add_name(names, "x")
    del names["x"]
    assert reads.changed


def test_values_that_equal_nothing_have_not_changed():
    thing = [float("nan"), np.arange(3)]
    reads = Reads()
    reads.add(thing)
    reads.add(np.array([np.nan]))
    assert not reads.changed
    thing[1] = np.arange(3)
    assert reads.changed


@pytest.mark.parametrize("thing", [[0] * (COMPARED_ITEMS + 1), np.zeros(COMPARED_BYTES + 1, np.uint8)])
def test_what_takes_long_to_compare_is_large(thing):
    reads = Reads()
    reads.add(thing)
    assert reads.is_large
