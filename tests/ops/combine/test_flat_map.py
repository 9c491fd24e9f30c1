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
def test_every_kind_of_result_resumes_exactly(function):
    ds = Dataset.range(20).flat_map(function)
    verify_resume(ds, most=25)
    verify_determinism(ds)


def test_elements_come_in_the_order_of_their_results():
    made = [int(x) for x in Dataset.range(12).flat_map(as_lists)]
    assert made == [n for n in range(12) for _ in range(n % 4)]


def test_a_result_may_be_empty():
    assert list(Dataset.range(5).flat_map(lambda _: [])) == []
    assert list(Dataset.range(0).flat_map(as_lists)) == []


def test_each_returned_dataset_has_its_own_shuffle_order():
    ds = Dataset.range(2).flat_map(lambda _: Dataset.range(50).shuffle())
    first, second = np.array([int(x) for x in ds]).reshape(2, 50)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first.tolist() != second.tolist()


def test_variants_of_an_element_draw_differently():
    def jitter(x, *, rng):
        return rng.random()

    drawn = list(Dataset.range(3).flat_map(lambda n: [n, n]).map(jitter))
    assert len(set(drawn)) == 6


def test_an_endless_returned_dataset_is_read_as_needed():
    assert [int(x) for x in Dataset.range(2).flat_map(lambda n: Dataset.counter(int(n))).take(3)] == [0, 1, 2]


def test_a_restore_deep_in_a_returned_dataset_skips_its_elements():
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


def test_an_argument_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="flat_map"):
        Dataset.range(3).flat_map(3)
