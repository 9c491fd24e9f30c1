"""Policies for the last batch of an epoch, as arguments."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from penstock import Dataset, tf_data
from penstock.core.errors import PlanError
from penstock.dataset.arguments.remainder import check_mask_key, drops, policy
from penstock.elements.spec import spec_of

BATCHES = (
    *("batch", "padded_batch", "ragged_batch", "sparse_batch", "rebatch"),
    *("bucket_by_sequence_length", "batch_by_tokens"),
)


@pytest.mark.parametrize("call", BATCHES)
def test_every_batching_operation_takes_the_same_remainder_arguments(call):
    found = inspect.signature(getattr(Dataset, call)).parameters
    assert found["drop_remainder"].default is False
    assert (found["remainder"].default, found["mask_key"].default) == (None, "valid")
    assert found["remainder"].kind == found["mask_key"].kind == inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize(
    ("drop", "remainder", "wanted"),
    [
        (False, None, (False, None)),
        (True, None, (True, None)),
        (np.True_, "drop", (True, None)),
        (False, "keep", (False, None)),
        (False, "drop", (True, None)),
        (False, "pad", (False, "real")),
    ],
)
def test_remainder_is_keep_drop_or_pad(drop, remainder, wanted):
    left = policy("batch", None, drop, remainder, "real")
    assert (left["drop_remainder"], left["mask_key"]) == wanted


@pytest.mark.parametrize("remainder", ["fill", "", 3, True, ["pad"]])
def test_anything_else_is_refused(remainder):
    with pytest.raises(ValueError, match=r'padded_batch\(remainder=.*expected "keep", "drop" or "pad"'):
        drops("padded_batch", False, remainder)


@pytest.mark.parametrize("remainder", ["keep", "pad"])
def test_drop_remainder_and_remainder_must_agree(remainder):
    with pytest.raises(ValueError, match=r"rebatch.*drop_remainder=True contradicts it"):
        drops("rebatch", True, remainder)


def test_a_mask_key_must_be_new_text():
    assert check_mask_key("batch", spec_of({"x": 1}), "valid") == "valid"
    assert check_mask_key("batch", None, "x") == "x"
    with pytest.raises(PlanError, match=r"batch\(\): an element already has 'x'"):
        check_mask_key("batch", spec_of({"x": 1}), "x")
    with pytest.raises(TypeError, match=r"batch\(mask_key=None\): expected a string"):
        check_mask_key("batch", None, None)


def test_call_forms_of_tf_data_also_take_remainder():
    ds = tf_data.Dataset.range(5).map(np.atleast_1d)
    assert len(list(ds.padded_batch(2, None, None, True, name="pairs"))) == 2
    assert len(list(ds.ragged_batch(2, True, np.int32, name="pairs"))) == 2
    (*_, (batch, real)) = ds.padded_batch(2, remainder="pad", name="pairs")
    assert (batch.tolist(), real.tolist()) == ([[4], [0]], [True, False])
    made = ds.bucket_by_sequence_length(len, [2], [2, 2], None, None, False, False, True)
    assert [batch.tolist() for batch in made] == [[[0], [1]], [[2], [3]]]
