"""`sparse_batch`: the values that went in, in a shape that is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import ArraySpec, SparseSpec
from penstock.testing.laws import same

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=7)


@given(ROWS, st.integers(1, 4), st.sampled_from([[4], [6], [None], [-1]]))
def test_rows_of_the_batches_are_the_elements(rows, size, shape):
    words = [np.array(row, np.int64) for row in rows]
    for ds in (Dataset.from_source(words), Dataset.from_tensor_slices(ps.Ragged.from_rows(words))):
        made = list(ds.sparse_batch(size, shape))
        assert same([row.values for batch in made for row in batch], words)
        for batch, low in zip(made, range(0, len(words), size), strict=True):
            run = words[low : low + size]
            assert batch.dense_shape == (len(run), shape[0] if (shape[0] or -1) > 0 else max(map(len, run)))
            assert same(batch.indices[:, 1], np.concatenate([np.arange(len(word)) for word in run]))


def test_each_leaf_may_have_its_own_row_shape():
    data = {"t": ps.Ragged.from_rows([[1], [2, 3]]), "m": np.ones((2, 2, 2)), "y": [7, 8], "n": ["a", "b"]}
    ds = Dataset.from_tensor_slices(data).sparse_batch(2, {"t": [5], "m": [2, 3], "y": (), "n": ()})
    assert ds.element_spec == {
        "t": SparseSpec((2, 5), "i8"),
        "m": SparseSpec((2, 2, 3), "f8"),
        "y": ArraySpec((2,), "i8"),
        "n": ArraySpec((2,), object),
    }
    (batch,) = ds
    assert batch["t"].to_dense().tolist() == [[1, 0, 0, 0, 0], [2, 3, 0, 0, 0]]
    assert batch["m"].to_dense().tolist() == [[[1, 1, 0]] * 2] * 2
    assert batch["y"].tolist() == [7, 8]
    assert batch["n"].tolist() == ["a", "b"]


def test_sparse_elements_keep_their_values():
    whole = ps.Sparse.from_dense([[0, 5], [0, 0], [7, 0]])
    ds = Dataset.from_tensor_slices(whole)
    assert list(ds.sparse_batch(2, [2])) == [whole[:2], whole[2:]]
    assert list(ds.batch(2)) == [whole[:2], whole[2:]]
    assert ds.sparse_batch(3, [4])[0] == whole.resized((3, 4))
    assert list(ds.batch(2).unbatch()) == list(whole)


@pytest.mark.parametrize(
    ("data", "shape", "error", "message"),
    [
        (np.zeros((2, 3)), [2], PlanError, r"float64\[3\] does not fit into the row_shape \[2\]"),
        ({"x": np.zeros((2, 3)), "y": [1, 2]}, [3], PlanError, r'int64 at \["y"\] does not fit into the row_shape'),
        (["a", "b"], [3], PlanError, "str does not fit"),
        (np.zeros((2, 3)), 3, PlanError, r"row_shape=3\): expected a shape such as"),
        (np.zeros((2, 3)), None, TypeError, "row_shape=None"),
        (ps.Ragged([1], [0, 1]).fold(1), [1], TypeError, r"ragged int64\[\?, ~\] cannot become sparse"),
    ],
)
def test_batches_that_must_fail_are_refused_when_the_pipeline_is_built(data, shape, error, message):
    with pytest.raises(error, match=message):
        Dataset.from_tensor_slices(data).sparse_batch(2, shape)


def test_an_element_larger_than_row_shape_is_refused_with_its_row():
    ds = Dataset.from_source([np.zeros(1), np.zeros(3)]).sparse_batch(2, [2])
    with pytest.raises(ElementError, match=r"sparse_batch: row 1 has shape \(3,\), larger than \(2,\)") as caught:
        list(ds)
    assert "in sparse_batch(2, row_shape=[2]), at row 0" in caught.value.__notes__


def test_remainders_are_dropped_and_streams_are_collected():
    ds = Dataset.from_source([np.arange(1, n) for n in range(6)])
    assert len(ds.sparse_batch(4, [9], drop_remainder=True)) == 1
    assert [len(batch.values) for batch in ds.filter(lambda word: len(word) > 1).sparse_batch(2, [9])] == [5, 4]
    with pytest.raises(ValueError, match=r"sparse_batch\(batch_size=0\)"):
        ds.sparse_batch(0, [9])
