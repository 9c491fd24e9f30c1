"""`enumerate`: elements with their positions in the epoch."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.engine.tasks.compile import compiled
from penstock.engine.tasks.observer import Unobserved
from penstock.ops.elementwise.enumerate import Enumerate
from tests.plan.flows import assert_streams


def test_positions_count_from_start_in_each_epoch():
    ds = Dataset.from_source(["a", "b"]).enumerate(start=-1)
    for epoch in range(3):
        assert list(ds.iterator(epoch=epoch)) == [(-1, "a"), (0, "b")]


def test_positions_are_those_after_a_shuffle_and_keep_counting_over_a_repeat():
    assert [n for n, _ in Dataset.range(9).shuffle(seed=0).enumerate()] == list(range(9))
    assert [n for n, _ in Dataset.range(2).repeat(2).enumerate()] == [0, 1, 2, 3]
    assert [n for n, _ in Dataset.range(2).enumerate().repeat(2)] == [0, 1, 0, 1]


def test_positions_are_int64_and_elements_keep_their_structure():
    assert Dataset.from_tensors({"a": "b"}).enumerate().element_spec == (
        ArraySpec((), np.dtype(np.int64)),
        {"a": ObjectSpec(str)},
    )
    number, _ = Dataset.range(1).enumerate()[0]
    assert type(number) is int


@pytest.mark.parametrize(("ds", "count"), [(Dataset.range(7), 7), (Dataset.range(0), 0), (Dataset.counter(), -1)])
def test_the_number_of_elements_is_kept(ds, count):
    assert ds.enumerate().cardinality() == count


def test_the_pair_reaches_a_map_as_two_arguments():
    assert list(Dataset.range(3).enumerate(10).map(lambda n, x: n + x)) == [10, 12, 14]


@pytest.mark.parametrize("size", [0, 1, 7])
@pytest.mark.parametrize("start", [0, 5, -3])
@pytest.mark.parametrize("epoch", [0, 3])
def test_streams_are_supported(size, start, epoch):
    node = Dataset.range(1).enumerate(start)._plan
    assert_streams(node, ["abcdefgh"[:size]], list(enumerate("abcdefgh"[:size], start)), epoch)


def test_enumerate_of_a_virtual_stream_counts_in_steps():
    node = Enumerate(Dataset.range(4)._plan, 7, 3)
    assert_streams(node, ["abcd"], [(7, "a"), (10, "b"), (13, "c"), (16, "d")])
    made = compiled(node, np.empty, Unobserved())(np.arange(6))
    assert [int(number) for number, _ in made.elements()] == [7, 10, 13, 16, 7, 10]
