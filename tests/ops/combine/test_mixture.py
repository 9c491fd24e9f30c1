"""Draws of each element from one of several inputs: merging chunks, and rows within epochs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF
from penstock.index.weights import Steady
from penstock.ops.combine.mixture import merged
from penstock.ops.combine.sample import Sample
from penstock.ops.read.source import Read
from penstock.plan.types import ENDLESS_EPOCHS, INFINITE_STRIDE
from penstock.sources.integers import counter, integer_range


@given(which=st.lists(st.integers(0, 3), min_size=1, max_size=30), columns=st.booleans())
def test_each_element_is_at_the_position_of_its_choice(which, columns):
    def make(member, places):
        values = [100 * member + place for place in places.tolist()]
        return Columns(LEAF, [np.array(values)], len(values)) if columns else Items(list(values))

    made = merged(np.array(which), make)
    assert made.elements() == [100 * member + place for place, member in enumerate(which)]
    assert isinstance(made, Columns) == columns


def mixture(*sources, first=False):
    return Sample(
        tuple(map(Read, sources)), Steady((1.0,) * len(sources)), first, exact=True, rerandomize=False, seed=None
    )


def test_epochs_of_the_mixture_are_epochs_of_its_inputs():
    node = mixture(integer_range(2), integer_range(3))
    assert [rows.tolist() for rows in node.route(np.arange(10))] == [[0, 1, 2, 3], [0, 1, 2, 3, 4, 5]]


def test_a_finite_part_of_an_endless_input_begins_again_with_its_first_epoch():
    node = mixture(integer_range(2), counter(0), first=True)
    assert node.length == 4
    rows = np.array([1, 5, ENDLESS_EPOCHS * 4 + 1])
    which, its_rows = node.split(rows)
    assert which.tolist() == [1, 1, 1]
    assert its_rows.tolist() == [0, INFINITE_STRIDE, 0]


def test_finite_inputs_next_to_an_endless_one_use_more_epochs():
    node = mixture(integer_range(2), counter(0), first=True)
    which, its_rows = node.split(np.array([4 * 10**9]))
    assert (which.tolist(), its_rows.tolist()) == ([0], [2 * 10**9])


def test_rows_beyond_int64_are_refused():
    with pytest.raises(OverflowError, match="beyond row"):
        mixture(counter(0), counter(0)).split(np.array([(1 << 15) * INFINITE_STRIDE - 1 + (1 << 62)]))
