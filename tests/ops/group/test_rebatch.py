"""`rebatch`: batches of other sizes."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset, Ragged
from penstock.core.errors import ElementError
from penstock.testing.laws import verify_determinism, verify_resume


def lists(ds):
    return [batch.tolist() for batch in ds]


@pytest.mark.parametrize(
    ("size", "drop", "wanted"),
    [
        (4, False, [[0, 1, 2, 3], [4, 5, 6]]),
        (4, True, [[0, 1, 2, 3]]),
        (1, False, [[0], [1], [2], [3], [4], [5], [6]]),
        (9, False, [[0, 1, 2, 3, 4, 5, 6]]),
        ([2, 3], False, [[0, 1], [2, 3, 4], [5, 6]]),
        ([2, 4], True, [[0, 1], [2, 3, 4, 5]]),
        ([3, 1, 2], False, [[0, 1, 2], [3], [4, 5], [6]]),
        ((5,), True, [[0, 1, 2, 3, 4]]),
    ],
)
@pytest.mark.parametrize("before", [1, 3, 10])
def test_sizes_are_used_in_turn(size, drop, wanted, before):
    ds = Dataset.range(7).batch(before)
    indexed, stream = ds.rebatch(size, drop), ds.map(lambda batch: batch).rebatch(size, drop)
    assert lists(indexed) == lists(stream) == wanted
    assert len(indexed) == len(wanted)
    assert [indexed[row].tolist() for row in range(len(wanted))] == wanted
    for one in (indexed, stream):
        verify_resume(one)
        verify_determinism(one)


def test_each_epoch_begins_with_the_first_size():
    ds = Dataset.range(5).batch(5).rebatch([1, 3])
    assert lists(ds.repeat(2)) == [[0], [1, 2, 3], [4]] * 2


def test_batches_do_not_share_memory():
    data = np.arange(6).reshape(2, 3)
    for batch in Dataset.from_tensor_slices(data).rebatch([3, 3]):
        batch[:] = 9
    assert data.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_elements_that_do_not_fit_are_named():
    ds = Dataset.range(1, 3).map(lambda n: np.zeros((2, n))).rebatch([4])
    with pytest.raises(ElementError, match=r"shape \(1,\) against \(2,\)"):
        list(ds)


@pytest.mark.parametrize(
    ("size", "says"), [(0, "batch_size=0"), (-1, "batch_size=-1"), ([2, 0], "batch_size=0"), ([], "at least one size")]
)
def test_sizes_below_one_are_refused(size, says):
    with pytest.raises(ValueError, match=says):
        Dataset.range(4).batch(2).rebatch(size)


def test_sizes_may_be_an_array():
    assert [batch.tolist() for batch in Dataset.range(5).batch(2).rebatch(np.array([1, 3]))] == [[0], [1, 2, 3], [4]]


@pytest.mark.parametrize("sizes", [3, [3, 1]])
def test_ragged_batches_of_which_the_plan_knows_nothing_stay_ragged(sizes):
    words = Dataset.range(5).map(lambda n: {"word": np.arange(n), "n": n}).ragged_batch(2, row_splits_dtype=np.int32)
    ds = words.rebatch(sizes)
    batches = list(ds)
    assert [row.tolist() for batch in batches for row in batch["word"]] == [list(range(n)) for n in range(5)]
    assert [type(batch["word"]) for batch in batches] == [Ragged] * len(batches)
    assert {batch["word"].row_splits.dtype for batch in batches} == {np.dtype(np.int32)}
    assert [batch["n"].tolist() for batch in batches] == ([[0, 1, 2], [3, 4]] if sizes == 3 else [[0, 1, 2], [3], [4]])
    assert "ragged int64[?, ~]" in str(ds.element_spec)
    verify_resume(ds)
    verify_determinism(ds)
    deep = Dataset.range(5).map(lambda n: Ragged.from_rows([np.arange(n)] * (n + 1))).ragged_batch(2).rebatch(sizes)
    assert [batch.ragged_rank for batch in deep] == [2] * len(batches)


def test_an_empty_stream_has_no_batches():
    assert list(Dataset.from_generator(lambda: iter(range(9))).take(0).rebatch([1, 3])) == []
