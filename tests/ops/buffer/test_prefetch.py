"""`prefetch` sets the depth of read-ahead and changes no element."""

from __future__ import annotations

import pytest

from penstock import AUTOTUNE, INFINITE, Dataset


@pytest.mark.parametrize("size", [None, AUTOTUNE, 0, 1, 2, 1000])
def test_elements_are_the_same(size):
    assert list(Dataset.range(10).prefetch(size).map(lambda x: x * 2)) == list(range(0, 20, 2))
    assert [b.tolist() for b in Dataset.range(5).batch(2).prefetch(size)] == [[0, 1], [2, 3], [4]]


def test_prefetch_of_zero_makes_no_element_before_it_is_requested():
    made = []
    ds = Dataset.range(10).map(lambda x: made.append(int(x)) or x, num_parallel_calls=2).prefetch(0)
    with ds.iterator() as it:
        assert next(it) == 0
        assert len(made) < 10


def test_the_number_of_elements_is_kept():
    assert Dataset.range(3).prefetch(1).cardinality() == 3
    assert Dataset.counter().prefetch(1).cardinality() == INFINITE


def test_explain_shows_the_arguments_as_written():
    assert Dataset.range(3).prefetch()._plan.label() == "prefetch()"
    assert Dataset.range(3).prefetch(4)._plan.label() == "prefetch(4)"
