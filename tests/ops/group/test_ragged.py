"""`ragged_batch`: which leaves become ragged, and that slices of a batch are the elements."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
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


def test_arrays_from_a_function_are_ragged_in_the_first_dimension():
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
    with pytest.raises(ElementError, match=r"elements of rows 0 and 1 differ: shape \(\?, 1\) against \(\?, 2\)"):
        list(Dataset.range(3).map(lambda x: np.zeros((2, x))).skip(1).ragged_batch(2))


def test_row_shapes_set_the_shapes_of_arrays_from_a_function():
    ds = Dataset.range(4).map(lambda x: {"a": np.zeros((x, 2)), "b": np.zeros(3), "c": np.zeros((2, x)), "y": x})
    ds = ds.ragged_batch(4, row_shapes={"a": [None, 2], "b": (3,), "c": [2, -1], "y": []})
    (batch,) = ds
    assert ds.element_spec == {
        "a": RaggedSpec((4, None, 2), "f8"),
        "b": ArraySpec((4, 3), "f8"),
        "c": RaggedSpec((4, None, None), "f8", 2),
        "y": ArraySpec((4,), "i8"),
    }
    assert batch["a"].shape == (4, None, 2)
    assert batch["b"].shape == (4, 3)
    assert batch["c"].values.row_lengths().tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert isinstance(batch["y"], np.ndarray)


def test_a_row_shape_of_none_leaves_it_to_the_plan():
    ds = Dataset.range(3).map(lambda x: (np.zeros(2), np.zeros(2))).ragged_batch(3, row_shapes=([2], None))
    (batch,) = ds
    assert batch[0].shape == (3, 2)
    assert isinstance(batch[1], ps.Ragged)
    assert isinstance(ds.repeat(2)[0][0], np.ndarray)


@pytest.mark.parametrize(
    ("row_shapes", "make"),
    [
        ([3], lambda x: np.zeros(2)),
        ([None, 3], lambda x: np.zeros((x, 2))),
        ([1, None], lambda x: np.zeros((2, x))),
        ([], lambda x: np.zeros(2)),
        ([2], lambda x: 1),
        ([None, None], lambda x: np.zeros(2)),
        ([None, None], lambda x: np.zeros((2,) * (3 - x))),
    ],
)
def test_rows_of_another_shape_are_refused(row_shapes, make):
    with pytest.raises(ElementError, match=r"ragged_batch: .*(is not a batch of rows of|were declared|differ)"):
        list(Dataset.range(1, 4).map(make).ragged_batch(2, row_shapes=row_shapes))


def test_rows_known_to_have_another_shape_are_refused_when_the_dataset_is_built():
    with pytest.raises(PlanError, match=r"float64\[3\] does not have the row_shape \[2\]"):
        Dataset.from_tensor_slices(np.zeros((4, 3))).ragged_batch(2, row_shapes=[2])
    with pytest.raises(PlanError, match=r"row_shapes=5\): expected a shape"):
        Dataset.from_tensor_slices(np.zeros((4, 3))).ragged_batch(2, row_shapes=5)
    made = Dataset.from_tensor_slices(np.zeros((4, 3))).ragged_batch(2, row_shapes=[None])
    assert made.element_spec == RaggedSpec((2, None), "f8")
    assert isinstance(made[0], ps.Ragged)


def test_a_spec_learned_by_running_does_not_change_the_batches():
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


def test_streams_are_collected():
    ds = Dataset.from_source([np.arange(n) for n in range(6)]).filter(lambda word: len(word) % 2 == 1).ragged_batch(2)
    assert list(ds) == [ps.Ragged.from_rows([[0], [0, 1, 2]]), ps.Ragged.from_rows([[0, 1, 2, 3, 4]])]


def test_wrong_arguments_are_refused():
    ds = Dataset.range(3)
    with pytest.raises(ValueError, match=r"ragged_batch\(batch_size=0\)"):
        ds.ragged_batch(0)
    with pytest.raises(ValueError, match=r"ragged_batch\(row_splits_dtype\): expected int32 or int64, not float64"):
        ds.ragged_batch(2, row_splits_dtype=float)
    with pytest.raises(TypeError, match=r"ragged_batch\(row_splits_dtype\): expected int32 or int64, not 'abc'"):
        ds.ragged_batch(2, row_splits_dtype="abc")
