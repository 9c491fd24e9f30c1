"""`split_batches`: consecutive parts of one batch, for ranks whose steps are alike."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.testing.laws import verify_determinism, verify_resume

WORDS = Dataset.from_source([[x % 7] * (1 + x * 5 % 11) for x in range(200)]).map(np.array)


@given(st.integers(0, 40), st.integers(1, 9), st.integers(1, 9))
def test_parts_end_to_end_are_the_batches(count, size, parts):
    size = max(size, parts)
    ds = Dataset.range(count).batch(size, drop_remainder=True)
    split = ds.split_batches(parts)
    assert len(split) == len(ds) * parts
    made = [part.tolist() for part in split]
    assert [split[row].tolist() for row in range(len(split))] == made
    stream = ds.filter(lambda batch: True).split_batches(parts)
    assert [part.tolist() for part in stream] == made
    joined = [[*chain.from_iterable(made[at : at + parts])] for at in range(0, len(made), parts)]
    assert joined == [batch.tolist() for batch in ds]
    assert all(
        max(map(len, made[at : at + parts])) - min(map(len, made[at : at + parts])) <= 1
        for at in range(0, len(made), parts)
    )


def test_every_leaf_is_split_and_the_spec_says_so():
    ds = Dataset.from_tensor_slices({"x": np.arange(24).reshape(8, 3), "y": np.arange(8.0)}).batch(
        4, drop_remainder=True
    )
    split = ds.split_batches(2)
    first = split[1]
    assert (first["x"].tolist(), first["y"].tolist()) == ([[6, 7, 8], [9, 10, 11]], [2.0, 3.0])
    assert repr(split.element_spec) == repr(
        Dataset.from_tensor_slices({"x": np.arange(24).reshape(8, 3), "y": np.arange(8.0)})
        .batch(2, drop_remainder=True)
        .element_spec
    )
    ragged = WORDS.ragged_batch(4).split_batches(2)
    assert [part.tolist() for part in ragged.take(2)] == [[[0], [1] * 6], [[2] * 11, [3] * 5]]


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize(
    "batches",
    [
        WORDS.bucket_by_sequence_length(len, [4, 8], [16, 8, 4], drop_remainder=True),
        WORDS.bucket_by_sequence_length(len, [4, 8], [16, 8, 4], remainder="pad").map(
            lambda batch, valid: (batch, valid)
        ),
        WORDS.batch_by_tokens(len, 64, drop_remainder=True).filter(lambda batch: len(batch) >= 4),
    ],
    ids=["buckets", "padded buckets", "tokens"],
)
def test_ranks_have_equal_lengths_in_every_step_and_all_rows_together(batches, world):
    def first(batch):
        return batch[0] if isinstance(batch, tuple) else batch

    split = batches.split_batches(world)
    by_shard = [split.shard(world, rank) for rank in range(world)]
    by_rank = [split.shard_by_rank(rank=rank, world=world) for rank in range(world)]
    wanted = [first(batch).tolist() for batch in batches]
    for ranks in (by_shard, by_rank):
        steps = list(zip(*ranks, strict=True))
        assert all(len({first(part).shape[1] for part in step}) == 1 for step in steps)
        assert [np.concatenate([first(part) for part in step]).tolist() for step in steps] == wanted


def test_a_batch_that_is_too_short_and_leaves_without_rows_are_named():
    with pytest.raises(
        ElementError, match=r"split_batches\(4\): a batch has 2 rows; use drop_remainder=True"
    ) as caught:
        list(Dataset.range(10).batch(4).split_batches(4))
    assert "batch 2" in "\n".join(caught.value.__notes__) or "row 2" in "\n".join(caught.value.__notes__)
    with pytest.raises(ElementError, match=r"split_batches: 3 .*has no first dimension"):
        list(Dataset.range(3, 4).split_batches(1))
    with pytest.raises(ElementError, match="same length"):
        list(Dataset.range(1).map(lambda x: (np.zeros(2), np.zeros(3))).split_batches(2))
    batches = Dataset.range(3).batch(2)
    with pytest.raises(ValueError, match=r"split_batches\(count=0\): expected at least 1"):
        batches.split_batches(0)
    with pytest.raises(PlanError, match="makes parts of one batch for one step"):
        list(WORDS.batch_by_tokens(len, 64).split_batches(2).shard(2, 0, streams=2))


@pytest.mark.parametrize(
    "ds", [Dataset.range(40).batch(4), WORDS.bucket_by_sequence_length(len, [4], [8, 8], drop_remainder=True)]
)
def test_every_run_makes_the_same_and_states_resume(ds):
    verify_determinism(ds.split_batches(4))
    verify_resume(ds.split_batches(4))
