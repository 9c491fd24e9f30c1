"""`unbatch`: batches taken apart, by arithmetic where the plan tells their size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import INFINITE, UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.testing.laws import same, verify_determinism, verify_resume

SLICES = {"x": np.arange(14, dtype=np.float32).reshape(7, 2), "y": np.arange(7), "s": list("abcdefg")}


def is_indexed(ds):
    return ds._plan.indexed


@given(st.integers(0, 20), st.integers(1, 6), st.booleans())
def test_unbatch_inverts_batch(count, size, drop):
    ds = Dataset.range(count)
    back = ds.batch(size, drop_remainder=drop).unbatch()
    wanted = list(range(count - count % size if drop else count))
    assert is_indexed(back)
    assert len(back) == len(wanted)
    assert list(back) == wanted
    assert [back[row] for row in range(len(back))] == wanted


@pytest.mark.parametrize("size", [1, 2, 3, 7, 9])
def test_streams_and_indexed_datasets_make_the_same(size):
    ds = Dataset.from_tensor_slices(SLICES)
    indexed, stream = ds.batch(size).unbatch(), ds.batch(size).map(lambda batch: batch).unbatch()
    assert (is_indexed(indexed), is_indexed(stream)) == (True, False)
    assert stream.cardinality() == UNKNOWN
    made, again = list(indexed), list(stream)
    assert len(made) == len(again) == 7
    assert all(map(same, made, again))
    assert same(made[3], {"x": np.array([6, 7], np.float32), "y": 3, "s": "d"})
    for one in (indexed, stream):
        verify_resume(one)
        verify_determinism(one)


def test_rows_of_arrays():
    ds = Dataset.from_tensor_slices(np.arange(12).reshape(2, 3, 2)).unbatch()
    assert [row.tolist() for row in ds] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    assert repr(ds.element_spec) == "int64[2]"
    assert list(Dataset.from_tensors(np.arange(3)).unbatch().shuffle(seed=0).iterator(epoch=0)) != [0, 1, 2]


def test_batches_may_be_moved_before_unbatch():
    ds = Dataset.range(12).batch(3, drop_remainder=True).shuffle(seed=1).repeat(2).skip(1)
    ds = ds.with_options(Options(ignore_lint="all"))
    assert list(ds.unbatch().iterator(epoch=0)) == [x for batch in ds.iterator(epoch=0) for x in batch.tolist()]
    assert len(ds.unbatch()) == 21


def test_a_batch_is_made_once_for_all_of_its_elements():
    made = []

    def count(batch):
        made.append(1)
        return batch

    list(Dataset.range(12).batch(4).map(count).unbatch().batch(4))
    assert len(made) == 3


def test_batches_of_different_sizes():
    ds = Dataset.range(5).map(np.arange).unbatch()
    assert list(ds) == [x for n in range(5) for x in range(n)]
    verify_resume(ds)


def test_endless_datasets_are_supported():
    ds = Dataset.counter().batch(3).unbatch()
    assert ds.cardinality() == INFINITE
    assert list(ds.skip(4).take(3)) == [4, 5, 6]
    assert Dataset.counter().map(lambda x: np.arange(2)).unbatch().cardinality() == INFINITE


def test_batches_without_elements():
    ds = Dataset.from_tensor_slices(np.zeros((3, 0, 2))).unbatch()
    assert (len(ds), list(ds)) == (0, [])


def test_a_leaf_without_a_first_dimension_is_refused_when_the_spec_is_known():
    with pytest.raises(PlanError, match=r"unbatch\(\): cannot slice int64: it has no first dimension"):
        Dataset.range(3).unbatch()
    with pytest.raises(PlanError, match=r'the same first dimension: 2 at \["x"\] against 3 at \["y"\]'):
        Dataset.from_tensors({"x": np.arange(2), "y": np.arange(3)}).unbatch()


def test_a_leaf_without_a_first_dimension_is_named_with_its_row_otherwise():
    ds = Dataset.range(6).map(lambda x: np.arange(2) if x < 4 else x).unbatch()
    with pytest.raises(ElementError, match="unbatch: 4 is of type int, which has no first dimension"):
        list(ds)


class Liar:
    """Declares five values and returns two."""

    random = False

    def __call__(self, x, /, *, rng=None):
        return np.arange(2)

    def spec(self, spec, /):
        return type(spec)((5,), spec.dtype)


def test_a_function_that_declares_a_wrong_shape_is_an_error():
    with pytest.raises(ElementError, match="a batch has 2 elements, but its spec has 5"):
        list(Dataset.range(3).map(Liar()).unbatch())
