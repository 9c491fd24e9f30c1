"""`take`: the first elements."""

from __future__ import annotations

import sys

import pytest

from penstock import INFINITE, Dataset, Options
from tests.plan.flows import assert_streams


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000, sys.maxsize, -1])
def test_take_keeps_at_most_the_length(size, count):
    ds = Dataset.range(size).take(count)
    assert list(ds) == list(range(size))[: None if count == -1 else count]
    assert len(ds) == len(list(ds))


def test_endless_datasets_are_supported():
    assert list(Dataset.counter().take(3)) == [0, 1, 2]
    assert Dataset.counter().take(-1).cardinality() == INFINITE


def test_every_epoch_takes_its_own_first_elements():
    ds = Dataset.range(10).shuffle(seed=0)
    for epoch in (0, 1, 2):
        assert list(ds.take(4).iterator(epoch=epoch)) == list(ds.iterator(epoch=epoch))[:4]


def test_rerandomized_numbers_differ_in_each_epoch():
    ds = Dataset.random(seed=1, rerandomize_each_iteration=True).take(3)
    assert list(ds.iterator(epoch=0)) != list(ds.iterator(epoch=1))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 3, 7, 8, 9, sys.maxsize, -1])
def test_streams_are_supported(size, count):
    node = Dataset.range(1).take(count)._plan
    assert_streams(node, [range(size)], list(range(size))[: None if count == -1 else count])


def test_take_reads_no_more_of_a_stream_than_needed():
    looked_at = []
    ds = Dataset.counter().filter(lambda x: looked_at.append(x) or True).batch(3).take(2)
    assert len(list(ds.with_options(Options(executor="inline")))) == 2
    assert len(looked_at) < 100
