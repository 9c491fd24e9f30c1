"""Parts of results that something else refers to are found by their counts of references."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.kernels.kept import own_result, own_results


def unknown(cls):
    return None


def test_many_parts_are_told_apart():
    kept = [np.full(1, n) for n in range(100)]
    made, found = own_result([[part for n in range(200) for part in (np.full(1, n), kept[n % 100])]], (), [], unknown)
    assert {id(part) for part in found} == set(map(id, kept))
    assert [int(part[0]) for part in made] == [k for n in range(200) for k in (n, n % 100)]
    assert not any(new is old for new, old in zip(made[1::2], kept * 2, strict=True))


def test_everything_in_a_kept_container_is_copied():
    kept = {"a": [np.zeros(1)], "n": 1}
    made, _ = own_result([(kept, 2)], (), [], unknown)
    assert made == (kept, 2)
    assert made[0] is not kept
    assert made[0]["a"] is not kept["a"]
    assert made[0]["a"][0] is not kept["a"][0]


def test_constants_and_new_parts_stay():
    constant, array = (1, ("a", None)), np.zeros(1)
    made, found = own_result([[constant, np.float32(1), array[:0]]], array, [[array]], unknown)
    assert made[0] is constant
    assert made[2].base is array
    assert found == []


def test_a_change_of_another_type_is_asked_for_once_and_applied():
    asked = []

    def change_of(cls):
        asked.append(cls)
        return set.copy if cls is set else None

    kept = {1}
    made = list(own_results(iter([(kept, 1j), (kept, 2j)]), [0, 1], [[0, 1]], change_of))
    assert made == [({1}, 1j), ({1}, 2j)]
    assert made[0][0] is not kept
    assert sorted(map(str, asked)) == ["<class 'complex'>", "<class 'set'>"]


def test_a_result_that_contains_itself_is_an_error():
    made = []
    made.append(made)
    with pytest.raises(RecursionError):
        own_result([made], (), [], unknown)


def test_errors_of_the_function_are_raised_and_its_end_is_the_end():
    with pytest.raises(ZeroDivisionError):
        list(own_results((1 / x for x in [0]), [0], [[0]], unknown))
    assert list(own_results(iter([]), [], [], unknown)) == []


def test_an_error_of_a_change_is_raised():
    def change_of(cls):
        raise ValueError("no")

    kept = {1}
    with pytest.raises(ValueError, match="no"):
        list(own_results(iter([(kept,)]), [0], [[0]], change_of))
