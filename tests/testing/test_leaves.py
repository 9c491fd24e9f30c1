"""Leaves of every kind, and several of each."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.nested.structure import is_leaf
from penstock.elements.spec import batched, leaf_spec, spec_of
from penstock.testing.laws import same
from penstock.testing.leaves import LEAVES, repeat_leaf, rows_like


@pytest.mark.parametrize("leaf", LEAVES)
def test_copies_of_a_leaf_form_a_batch(leaf):
    assert is_leaf(leaf)
    batch = repeat_leaf(leaf, 3)
    assert spec_of(batch) == batched(leaf_spec(leaf), 3)
    assert all(same(element, leaf) for element in batch)


@pytest.mark.parametrize("leaf", LEAVES)
def test_rows_have_the_kind_of_the_leaf_and_differ(leaf):
    for count in (0, 1, 3):
        rows = rows_like(leaf, count)
        assert len(rows) == count
    elements = list(rows)
    assert all(type(element) is type(leaf) for element in elements)
    assert not same(elements[0], elements[2]) or isinstance(leaf, np.bool_)
