"""Wrong arguments of `map` and `enumerate`."""

from __future__ import annotations

import pytest

from penstock import AUTOTUNE, Dataset

DS = Dataset.range(5)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"map_func": 3}, TypeError, r"map\(map_func=\): expected a function, not int"),
        ({"num_parallel_calls": 0}, ValueError, r"map\(num_parallel_calls=0\)"),
        ({"num_parallel_calls": -2}, ValueError, r"map\(num_parallel_calls=-2\)"),
        ({"num_parallel_calls": 1.5}, TypeError, r"map\(num_parallel_calls=1.5\)"),
        ({"deterministic": "no"}, TypeError, r"map\(deterministic='no'\)"),
        ({"vectorized": 1}, TypeError, r"map\(vectorized=1\)"),
        ({"on": 1.5}, TypeError, r"map\(on=1.5\)"),
        ({"on": True}, TypeError, r"map\(on=True\)"),
    ],
)
def test_a_wrong_argument_of_map_is_named(arguments, error, says):
    with pytest.raises(error, match=says):
        DS.map(**({"map_func": abs} | arguments))


@pytest.mark.parametrize("calls", [None, AUTOTUNE, 1, 3])
@pytest.mark.parametrize("deterministic", [None, True, False])
def test_calls_in_parallel_yield_the_same_elements(calls, deterministic):
    made = list(Dataset.range(50).map(lambda x: x * 2, calls, deterministic))
    assert sorted(made) == list(range(0, 100, 2))
    if deterministic is not False:
        assert made == sorted(made)


@pytest.mark.parametrize("start", ["a", 1.5, None, True])
def test_enumerate_begins_at_a_whole_number(start):
    with pytest.raises(TypeError, match=r"enumerate\(start="):
        DS.enumerate(start)
    with pytest.raises(ValueError, match="at most"):
        DS.enumerate(2**63)
