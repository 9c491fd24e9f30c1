"""`skip`: all but the first elements."""

from __future__ import annotations

import sys

import pytest

from penstock import INFINITE, Dataset
from tests.plan.flows import assert_streams


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 1000, sys.maxsize, -1])
def test_the_elements_after_the_first_count_are_left(size, count):
    ds = Dataset.range(size).skip(count)
    assert list(ds) == ([] if count == -1 else list(range(size))[count:])
    assert len(ds) == len(list(ds))


def test_endless_datasets_are_supported():
    ds = Dataset.counter().skip(10**12)
    assert ds.cardinality() == INFINITE
    assert ds[0] == 10**12
    assert Dataset.counter().skip(-1).cardinality() == 0


def test_every_epoch_skips_its_own_first_elements():
    ds = Dataset.range(10).shuffle(seed=0)
    for epoch in (0, 1, 2):
        assert list(ds.skip(4).iterator(epoch=epoch)) == list(ds.iterator(epoch=epoch))[4:]


def test_skipped_elements_are_never_made():
    made = []
    ds = Dataset.range(100).map(lambda x: made.append(int(x)) or x).skip(97)
    assert list(ds) == [97, 98, 99]
    assert made == [97, 98, 99]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9])
@pytest.mark.parametrize("count", [0, 1, 3, 7, 8, 9, 1000, -1])
def test_streams_are_supported(size, count):
    node = Dataset.range(1).skip(count)._plan
    assert_streams(node, [range(size)], [] if count == -1 else list(range(size))[count:])
