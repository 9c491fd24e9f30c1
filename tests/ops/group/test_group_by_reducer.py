"""`group_by_reducer`: one element for each key."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.testing.laws import verify_determinism, verify_resume


def key(x):
    return x % 3


def summed(state, x):
    return state + x


@given(st.lists(st.integers(-9, 9), max_size=60))
def test_each_key_gives_one_element_in_key_order(numbers):
    sums = {}
    for number in numbers:
        sums[number % 4] = sums.get(number % 4, 100) + number
    for ds in (Dataset.from_source(numbers), Dataset.from_source(numbers).filter(lambda x: True)):
        made = ds.group_by_reducer(lambda x: x % 4, lambda key: 100, summed, lambda total: (total, "done"))
        assert list(made) == [(sums[key], "done") for key in sorted(sums)]


def test_without_finalize_func_the_states_are_yielded():
    assert list(Dataset.range(6).group_by_reducer(key, lambda key: key * 10, summed)) == [3, 15, 27]


def test_a_state_may_be_changed_in_place():
    def append(state, x):
        state.append(x)
        return state

    ds = Dataset.range(5).group_by_reducer(key, lambda key: [], append, tuple).repeat(2)
    assert list(ds) == [(0, 3), (1, 4), (2,)] * 2


def test_a_tuple_is_one_argument_to_the_reducer_and_several_to_the_key_function():
    ds = Dataset.range(4).enumerate().group_by_reducer(lambda n, x: n % 2, lambda key: 0, lambda s, pair: s + pair[1])
    assert list(ds) == [2, 4]


def test_the_length_is_known_only_by_iterating():
    assert Dataset.range(3).group_by_reducer(key, int, summed).cardinality() == UNKNOWN


def test_an_empty_dataset_has_no_groups():
    assert list(Dataset.range(0).group_by_reducer(key, int, summed)) == []


@pytest.mark.parametrize("options", [Options(), Options(executor="threads", workers=2)])
def test_a_restored_iterator_continues_exactly(options):
    ds = Dataset.range(40).shuffle().filter(lambda x: x % 5 > 0)
    verify_resume(ds.group_by_reducer(lambda x: x % 7, np.zeros, lambda s, x: s + x), options=options)
    verify_resume(ds.group_by_reducer(key, int, summed).repeat(3).batch(2), options=options)


def test_results_are_the_same_for_any_number_of_workers():
    verify_determinism(Dataset.range(40).map(float).group_by_reducer(lambda x: int(x) % 7, float, summed))


@pytest.mark.parametrize(
    ("functions", "error"),
    [
        ((lambda x: "a", int, summed), ElementError),
        ((key, lambda key: 1 // (key - 2), summed), ZeroDivisionError),
        ((key, int, lambda state, x: 1 // (x - 7)), ZeroDivisionError),
        ((key, int, summed, lambda state: None), ElementError),
        ((key, int, summed, lambda state: 1 // (state - 13)), ZeroDivisionError),
    ],
)
def test_errors_name_the_operation(functions, error):
    with pytest.raises(error) as caught:
        list(Dataset.range(9).group_by_reducer(*functions))
    assert any("group_by_reducer" in note or "key(lambda)" in note for note in caught.value.__notes__)


def test_explain_shows_the_work_that_a_restore_repeats():
    explained = Dataset.range(3).group_by_reducer(key, int, summed).explain()
    assert "restored, group_by_reducer(key, int, summed) goes through the epoch again" in explained


def test_mistakes_are_found_when_the_pipeline_is_built():
    ds = Dataset.range(3)
    for wrong in ((3, int, summed), (key, 3, summed), (key, int, 3), (key, int, summed, 3)):
        with pytest.raises(TypeError, match="expected a function"):
            ds.group_by_reducer(*wrong)
    with pytest.raises(PlanError, match="this dataset never ends"):
        Dataset.counter().group_by_reducer(key, int, summed)


def test_a_change_of_the_type_of_a_state_is_refused_with_its_key():
    ds = Dataset.range(4).group_by_reducer(lambda x: x % 2, lambda key: 0, lambda state, x: state + x / 2)
    with pytest.raises(ElementError, match="the state of the key 0 changed: it was int64 and became float64"):
        list(ds)
