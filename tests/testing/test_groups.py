"""Random batches: every policy for the remainder is drawn for every operation that has one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Dataset
from penstock.elements.nested.structure import flatten
from penstock.ops.group.batching import Batching
from penstock.plan.graph import post_order
from penstock.testing import functions, groups
from penstock.testing.draft import Draft
from penstock.testing.streams import STEPS
from tests.draws import draw_until

ROWS = Draft(Dataset.from_tensor_slices({"x": np.zeros((7, 2))}), {"x": np.zeros(2)})
INDEXED = {"batch", "padded_batch", "ragged_batch", "sparse_batch", "rebatch"}
POLICIES = [(False, None), (True, None), (False, "valid"), (False, "real")]


@st.composite
def indexed(draw):
    step = draw(st.sampled_from([groups.batch, groups.batch_unevenly, groups.unbatch]))
    return step(draw, ROWS).dataset


@st.composite
def streamed(draw):
    return draw(st.sampled_from(STEPS))(draw, ROWS.dataset.filter(any))


def lacking(wanted, strategy, most):
    """Return which of the wanted operations with their policies do not come in up to `most` random datasets."""
    left = set(wanted)

    def are_all_seen(ds):
        ds.cardinality()  # as using it
        nodes = [node for node in post_order(ds._plan) if isinstance(node, Batching)]
        left.difference_update((node.name, node.drop_remainder, node.mask_key) for node in nodes)
        return not left

    draw_until(are_all_seen, strategy, most)
    return left


def test_every_policy_comes_with_every_operation():
    keyed = {"bucket_by_sequence_length", "batch_by_tokens"}
    assert lacking({(name, *policy) for name in INDEXED for policy in POLICIES}, indexed(), 400) == set()
    assert lacking({(name, *policy) for name in INDEXED | keyed for policy in POLICIES}, streamed(), 2000) == set()


def test_the_example_is_like_the_elements():
    @given(st.data())
    @settings(max_examples=60, database=None, derandomize=True)
    def look(data):
        draft = groups.batch(data.draw, ROWS)
        for batch in draft.dataset if draft.uniform else []:
            assert {key: leaf.shape for key, leaf in batch.items()} == {
                key: leaf.shape for key, leaf in draft.example.items()
            }

    look()


@pytest.mark.parametrize("element", [(1,), (1, 2), {"x": 1}, 1, functions.Pair(1, 2)])
def test_the_example_of_windows_is_like_the_elements(element):
    @given(st.data())
    @settings(max_examples=5, database=None, derandomize=True)
    def look(data):
        draft = groups.window(data.draw, Draft(Dataset.from_tensors(element).repeat(9), element))
        assert flatten(draft.dataset[0])[1] == flatten(draft.example)[1]

    look()
