from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.testing.laws import verify_determinism, verify_resume

Dataset = ps.Dataset


def as_lists(n):
    return [int(n)] * (int(n) % 4)


def as_arrays(n):
    return np.arange(int(n) % 5)


def as_datasets(n):
    return Dataset.range(int(n) % 5).shuffle()


def as_generator(n):
    return ((int(n), i) for i in range(int(n) % 3))


calls_made = []


def noted(x):
    calls_made.append(int(x))
    return x


def mixed(n):
    return [as_lists, as_arrays, as_datasets, as_generator][int(n) % 4](n)


@pytest.mark.parametrize("function", [as_lists, as_arrays, as_datasets, as_generator, mixed])
def test_whatever_stands_for_elements_resumes_exactly(function):
    ds = Dataset.range(20).flat_map(function)
    verify_resume(ds, most=25)
    verify_determinism(ds)


def test_elements_come_in_the_order_of_what_they_stand_in():
    made = [int(x) for x in Dataset.range(12).flat_map(as_lists)]
    assert made == [n for n in range(12) for _ in range(n % 4)]


def test_nothing_may_stand_for_an_element():
    assert list(Dataset.range(5).flat_map(lambda _: [])) == []
    assert list(Dataset.range(0).flat_map(as_lists)) == []


def test_each_element_shuffles_what_it_stands_for_in_its_own_order():
    ds = Dataset.range(2).flat_map(lambda _: Dataset.range(50).shuffle())
    first, second = np.array([int(x) for x in ds]).reshape(2, 50)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()


def test_variants_of_an_element_draw_differently():
    def jitter(x, *, rng):
        return rng.random()

    drawn = list(Dataset.range(3).flat_map(lambda n: [n, n]).map(jitter))
    assert len(set(drawn)) == 6


def test_an_endless_dataset_is_gone_through_as_it_is_needed():
    assert [int(x) for x in Dataset.range(2).flat_map(lambda n: Dataset.counter(int(n))).take(3)] == [0, 1, 2]


def test_a_place_deep_within_a_dataset_is_reached_without_going_through_it():
    ds = Dataset.range(3).flat_map(lambda _: Dataset.range(100_000).map(noted))
    with ds.iterator(epoch=0) as it:
        for _ in range(50_000):
            next(it)
        state = it.state_dict()
    calls_made.clear()
    with ds.with_options(ps.Options(executor="inline")).iterator(epoch=0) as again:
        again.load_state_dict(state)
        assert int(next(again)) == 50_000
    assert min(calls_made) > 30_000


def test_the_number_of_elements_is_unknown():
    assert Dataset.range(3).flat_map(as_lists).cardinality() == ps.UNKNOWN


def test_a_function_is_needed():
    with pytest.raises(TypeError, match="flat_map"):
        Dataset.range(3).flat_map(3)
