"""`ragged_batch`: which leaves become ragged, and that slices of a batch are the elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec, RaggedSpec, SparseSpec
from penstock.ops.group.ragged import ranks_of
from penstock.testing.laws import difference, same

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=7)


@given(ROWS, st.integers(1, 4), st.booleans())
def test_slices_of_the_batches_are_the_elements(rows, size, drop):
    words = [np.array(row, np.int64) for row in rows]
    for ds in (Dataset.from_source(words), Dataset.from_tensor_slices(ps.Ragged.from_rows(words))):
        batches = list(ds.ragged_batch(size, drop_remainder=drop))
        kept = words[: len(words) // size * size] if drop else words
        assert same([row for batch in batches for row in batch], kept)
        assert [len(batch) for batch in batches] == [len(kept[low : low + size]) for low in range(0, len(kept), size)]
        assert all(batch.writeable for batch in batches)


def test_leaves_of_known_shape_stay_dense():
    ds = Dataset.from_tensor_slices(
        {
            "words": ps.Ragged.from_rows([[1], [2, 3], [], [4]]),
            "image": np.zeros((4, 2, 3), np.float32),
            "y": np.arange(4),
            "name": ["a", "b", "c", "d"],
            "deep": ps.Ragged.from_rows([[[1]], [], [[2], [3]], [[]]]),
            "sparse": ps.Sparse.from_dense(np.eye(4)),
        }
    )
    ragged = ds.ragged_batch(2, row_splits_dtype=np.int32)
    assert ragged.element_spec == {
        "words": RaggedSpec((2, None), "i8", 1, np.int32),
        "image": ArraySpec((2, 2, 3), "f4"),
        "y": ArraySpec((2,), "i8"),
        "name": ArraySpec((2,), object),
        "deep": RaggedSpec((2, None, None), "i8", 2, np.int32),
        "sparse": SparseSpec((2, 4), "f8"),
    }
    batch = ragged[1]
    assert batch["words"].tolist() == [[], [4]]
    assert batch["words"].row_splits.dtype == np.int32
    assert batch["image"].shape == (2, 2, 3)
    assert batch["deep"].tolist() == [[[2], [3]], [[]]]
    assert batch["deep"].row_splits.dtype == np.int32
    assert batch["sparse"] == ps.Sparse.from_dense(np.eye(4)[2:])
    assert ds.ragged_batch(2).fingerprint() != ragged.fingerprint()


def test_what_a_function_made_becomes_ragged_in_its_first_dimension():
    ds = Dataset.range(4).map(lambda x: {"a": np.zeros((x, 2)), "b": np.zeros(3), "y": x}).ragged_batch(4)
    assert ds.element_spec == {
        "a": RaggedSpec((4, None, None), "f8"),
        "b": RaggedSpec((4, None), "f8"),
        "y": ArraySpec((4,), "i8"),
    }
    (batch,) = ds
    assert batch["a"].shape == (4, None, 2)
    assert batch["b"].row_lengths().tolist() == [3] * 4
    assert batch["y"].tolist() == [0, 1, 2, 3]
    with pytest.raises(ElementError, match=r"elements of rows 0 and 1 differ: shape \(None, 1\) against \(None, 2\)"):
        list(Dataset.range(3).map(lambda x: np.zeros((2, x))).skip(1).ragged_batch(2))


def test_the_spec_that_is_learnt_by_running_does_not_change_the_batches():
    ds = Dataset.range(3).map(lambda x: np.zeros(2)).ragged_batch(2)
    assert ds.element_spec == RaggedSpec((None, None), "f8")
    assert isinstance(ds[0], ps.Ragged)


@pytest.mark.parametrize(
    ("shape", "rank"), [((), 0), ((3,), 0), ((None,), 1), ((None, 3), 1), ((3, None), 2), ((None, None, 3), 2)]
)
def test_dimensions_up_to_the_last_unknown_one_are_ragged(shape, rank):
    assert ranks_of(ArraySpec(shape, "f4")) == (rank,)
    assert ranks_of(None) is None


def test_batches_batch_again_and_come_apart():
    ds = Dataset.from_tensor_slices(ps.Ragged.from_rows([[1], [2, 3], [], [4]])).ragged_batch(2)
    assert ds.batch(2)[0].tolist() == [[[1], [2, 3]], [[], [4]]]
    assert ds.ragged_batch(2)[0] == ds.batch(2)[0]
    assert ds.batch(2).element_spec == RaggedSpec((2, None, None), "i8", 2)
    assert difference(list(ds.repeat(2)), [*ds, *ds]) is None
    assert [row.tolist() for row in ds.unbatch()] == [[1], [2, 3], [], [4]]


def test_a_stream_is_collected_too():
    ds = Dataset.from_source([np.arange(n) for n in range(6)]).filter(lambda word: len(word) % 2 == 1).ragged_batch(2)
    assert list(ds) == [ps.Ragged.from_rows([[0], [0, 1, 2]]), ps.Ragged.from_rows([[0, 1, 2, 3, 4]])]


def test_arguments_are_checked():
    ds = Dataset.range(3)
    with pytest.raises(ValueError, match=r"ragged_batch\(batch_size=0\)"):
        ds.ragged_batch(0)
    with pytest.raises(ValueError, match=r"ragged_batch\(row_splits_dtype\): expected int32 or int64, not float64"):
        ds.ragged_batch(2, row_splits_dtype=float)
    with pytest.raises(TypeError, match=r"ragged_batch\(row_splits_dtype='abc'\)"):
        ds.ragged_batch(2, row_splits_dtype="abc")
