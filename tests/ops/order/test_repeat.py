"""`repeat`: epochs one after another."""

from __future__ import annotations

import pytest

from penstock import INFINITE, Dataset
from penstock.core.errors import PlanError

F, EMPTY, ENDLESS = Dataset.range(7), Dataset.range(0), Dataset.counter()


@pytest.mark.parametrize(
    ("ds", "count", "length"),
    [
        (F, 2, 14),
        (F, 1, 7),
        (F, 0, 0),
        (F, None, INFINITE),
        (F, -1, INFINITE),
        (ENDLESS, 2, INFINITE),
        (ENDLESS, 0, 0),
        (ENDLESS, None, INFINITE),
        (EMPTY, 2, 0),
        (EMPTY, None, 0),
    ],
)
def test_its_length(ds, count, length):
    assert ds.repeat(count).cardinality() == length


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8])
def test_the_elements_come_again_and_again(size):
    assert list(Dataset.range(size).repeat(3)) == list(range(size)) * 3
    assert list(Dataset.range(size).repeat().take(2 * size + 1)) == [i % size for i in range(2 * size + 1)]


def test_nothing_repeated_without_end_is_nothing():
    assert list(EMPTY.repeat()) == []


def test_an_epoch_of_a_repeat_is_made_of_epochs_that_no_other_has():
    ds = Dataset.range(6).shuffle(seed=0).repeat(2)
    single = Dataset.range(6).shuffle(seed=0)
    for epoch in (0, 1, 2):
        expected = [*single.iterator(epoch=2 * epoch), *single.iterator(epoch=2 * epoch + 1)]
        assert list(ds.iterator(epoch=epoch)) == expected


@pytest.mark.parametrize("size", [1, 2, 5, 8])
def test_an_endless_repeat_reshuffles_and_begins_each_epoch_with_a_whole_one(size):
    ds = Dataset.range(size).shuffle(seed=0).repeat().take(2 * size)
    for epoch in (0, 1, 2):
        items = list(ds.iterator(epoch=epoch))
        assert sorted(items[:size]) == sorted(items[size:]) == list(range(size))


def test_repeats_multiply():
    assert list(Dataset.range(2).repeat(2).repeat(3)) == [0, 1] * 6


def test_more_elements_than_can_be_counted_are_refused():
    with pytest.raises(PlanError, match="repeat"):
        Dataset.range(2**40).repeat(2**30)
