"""`take`: the first elements."""

from __future__ import annotations

import sys

import pytest

from penstock import INFINITE, Dataset, Options
from tests.plan.flows import assert_streams


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000, sys.maxsize, -1])
def test_as_many_as_there_are(size, count):
    ds = Dataset.range(size).take(count)
    assert list(ds) == list(range(size))[: None if count == -1 else count]
    assert len(ds) == len(list(ds))


def test_of_an_endless_dataset():
    assert list(Dataset.counter().take(3)) == [0, 1, 2]
    assert Dataset.counter().take(-1).cardinality() == INFINITE


def test_every_epoch_takes_from_an_epoch_of_its_own():
    ds = Dataset.range(10).shuffle(seed=0)
    for epoch in (0, 1, 2):
        assert list(ds.take(4).iterator(epoch=epoch)) == list(ds.iterator(epoch=epoch))[:4]


def test_of_random_numbers_that_change_each_epoch():
    ds = Dataset.random(seed=1, rerandomize_each_iteration=True).take(3)
    assert list(ds.iterator(epoch=0)) != list(ds.iterator(epoch=1))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 3, 7, 8, 9, sys.maxsize, -1])
def test_of_a_stream(size, count):
    node = Dataset.range(1).take(count)._plan
    assert_streams(node, [range(size)], list(range(size))[: None if count == -1 else count])


def test_a_stream_is_not_asked_for_more_than_is_taken():
    looked_at = []
    ds = Dataset.counter().filter(lambda x: looked_at.append(x) or True).batch(3).take(2)
    assert len(list(ds.with_options(Options(executor="inline")))) == 2
    assert len(looked_at) < 100
