"""`batch` of elements whose lengths are known to differ: `Ragged` and `Sparse`, whose slices are the elements."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ArraySpec, RaggedSpec, SparseSpec
from penstock.ops.group.uneven import UnevenBatch
from penstock.testing.laws import same, verify_determinism, verify_resume

ROWS = st.lists(st.lists(st.integers(0, 9), max_size=4), min_size=1, max_size=9)


def words(rows, splits=np.int64):
    return ps.Ragged.from_rows([np.array(row, np.int64) for row in rows]).with_splits(splits)


def dataset(rows, splits=np.int64):
    count = len(rows)
    return Dataset.from_tensor_slices({"words": words(rows, splits), "n": np.arange(count)})


@given(ROWS, st.integers(1, 4), st.booleans(), st.sampled_from([np.int32, np.int64]))
def test_batches_of_slices_of_a_ragged_are_slices_of_the_ragged(rows, size, drop, splits):
    ds = dataset(rows, splits).batch(size, drop_remainder=drop)
    batches = list(ds)
    assert len(batches) == len(ds)
    for number, batch in enumerate(batches):
        part = words(rows, splits)[number * size : (number + 1) * size]
        assert batch["words"].tolist() == part.tolist()
        assert batch["words"].row_splits.dtype == splits
        assert batch["words"].writeable
        assert batch["n"].tolist() == [number * size + i for i in range(len(part))]


@given(ROWS, st.integers(1, 4), st.integers(1, 4))
def test_unbatch_and_batch_give_the_same_ragged_rows(rows, first, second):
    ds = dataset(rows)
    wanted = list(ds.batch(second))
    assert same(list(ds.batch(first).unbatch().batch(second)), wanted)
    assert same(list(ds.batch(first).rebatch(second)), wanted)
    assert same(list(ds.batch(first).rebatch([second, second])), wanted)


def test_rows_of_one_length_are_ragged_too():
    ds = dataset([[1, 2], [3, 4]]).batch(2)
    assert ds.element_spec == {"words": RaggedSpec((2, None), "i8"), "n": ArraySpec((2,), "i8")}
    assert next(iter(ds))["words"] == ps.Ragged.from_rows([[1, 2], [3, 4]])


def test_the_last_batch_is_filled_up_with_flags():
    *_, (last, real) = Dataset.from_tensor_slices(words([[1], [2, 3], [4]])).batch(2, remainder="pad")
    assert real.tolist() == [True, False]
    assert last.tolist() == [[4], []]


def test_sparse_arrays_are_as_large_as_the_largest_of_their_batch():
    records = [ps.records.encode_example({"x": np.arange(count) + 1}) for count in (0, 3, 1, 2, 5, 0, 1)]
    parse = ps.records.parse_example({"x": ps.records.VarLenFeature("int64")})
    parsed = Dataset.from_tensor_slices(np.array(records, object)).map(parse)
    ds = parsed.batch(2)
    assert [batch["x"].dense_shape for batch in ds] == [(2, 3), (2, 2), (2, 5), (1, 1)]
    assert ds[0]["x"].to_dense().tolist() == [[0, 0, 0], [1, 2, 3]]
    assert ds.element_spec == {"x": SparseSpec((None, None), "i8")}
    verify_resume(ds, most=4)
    assert same(list(parsed.map(dict).batch(2)), list(ds))  # a parser below tells as much


def one_at(place, size):
    """An array of `size` with one value."""
    return ps.Sparse([[place]], [1.0], (size,))


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20), st.integers(1, 4))
def test_sparse_arrays_that_a_function_makes_are_as_large_as_the_largest_too(sizes, size):
    numbers = Dataset.from_source(sizes)
    for ds in (
        numbers.map(lambda n: one_at(n - 1, n)).batch(size),
        numbers.filter(lambda n: n > 0).map(lambda n: one_at(n - 1, n)).batch(size),
        numbers.map(lambda n: one_at(n - 1, n)).batch(size).map(lambda batch: batch),
        Dataset.from_source([one_at(n - 1, n) for n in sizes]).batch(size),
    ):
        runs = [sizes[low : low + size] for low in range(0, len(sizes), size)]
        for batches in (list(ds), list(ds)):  # the second pass makes several batches in one go
            assert [batch.dense_shape for batch in batches] == [(len(run), max(run)) for run in runs]
            assert [batch.indices[:, 1].tolist() for batch in batches] == [[n - 1 for n in run] for run in runs]


def test_their_sizes_do_not_depend_on_the_executor():
    ds = Dataset.range(60).map(lambda n: {"x": one_at(0, int(n) % 7 + 1), "n": n}).shuffle(seed=1).batch(4)
    verify_determinism(ds)
    verify_resume(ds, most=4)
    assert ds.element_spec == {"x": SparseSpec((4, None), "f8"), "n": ArraySpec((4,), "i8")}


def test_a_batch_that_is_split_over_workers_is_as_large_as_its_largest():
    gate = threading.Barrier(2, timeout=30)

    def meeting(n):
        gate.wait()  # only two workers that share the batch get past it
        return one_at(0, int(n) + 1)

    ds = Dataset.range(2).map(meeting, thread_safe=True).batch(2).with_options(ps.Options(workers=2))
    assert [batch.dense_shape for batch in ds] == [(2, 2)]


def test_sparse_arrays_of_other_dtypes_or_dimensions_do_not_fit():
    for other in (ps.Sparse([[0]], [1], (1,)), ps.Sparse([[0, 0]], [1.0], (1, 1))):
        with pytest.raises(ElementError, match=r"rows 2 and 3 differ"):
            list(Dataset.from_source([one_at(0, 1), one_at(0, 2), one_at(0, 3), other]).batch(2))


def test_any_executor_makes_the_same_batches_and_states():
    ds = dataset([[i] * (i % 5) for i in range(40)]).shuffle(seed=1).batch(4)
    verify_determinism(ds)
    verify_resume(ds, most=6)


def test_the_known_spec_decides_how_batches_are_stacked():
    rows = dataset([[1], [2, 3]])
    assert isinstance(rows.batch(2)._plan, UnevenBatch)
    assert rows.batch(2).explain().count("batch(2)") == 1
    assert rows.batch(2).fingerprint() != dataset([[1], [2, 3]], np.int32).batch(2).fingerprint()
    assert not isinstance(Dataset.range(3).batch(2)._plan, UnevenBatch)


def test_arrays_from_a_function_of_rows_are_stacked_if_lengths_agree():
    rows = Dataset.from_tensor_slices(words([[1], [2, 3]])).map(lambda row: np.array(row.tolist()))
    with pytest.raises(ElementError, match="use padded_batch or ragged_batch"):
        list(rows.batch(2))


@pytest.mark.parametrize(
    "between",
    [
        lambda ds: ds,
        lambda ds: ds.skip(1).repeat(2).enumerate(),
        lambda ds: ds.filter(lambda element: True).shuffle(3, seed=1),
        lambda ds: ds.cache().concatenate(ds),
        lambda ds: ds.batch(3).unbatch(),
    ],
)
def test_rows_of_ragged_batches_of_which_the_plan_knows_nothing_are_ragged_again(between):
    made = Dataset.range(9).map(lambda n: np.arange(n % 3)).ragged_batch(4, row_splits_dtype=np.int32)
    rows = between(made.unbatch())
    ds = rows.batch(2)
    batches = [batch[1] if isinstance(batch, tuple) else batch for batch in ds]
    wanted = [row[1] if isinstance(row, tuple) else row for row in rows]
    assert [row.tolist() for batch in batches for row in batch] == [row.tolist() for row in wanted]
    assert {(type(batch), batch.row_splits.dtype.name) for batch in batches} == {(ps.Ragged, "int32")}
    assert "ragged int64[?, ~]" in str(ds.element_spec)
    verify_determinism(ds)
    verify_resume(ds)


@pytest.mark.parametrize("options", [ps.Options(), ps.Options(executor="threads", workers=2)])
@pytest.mark.parametrize(
    "within",
    [
        lambda rows: Dataset.range(2).flat_map(lambda _: rows),
        lambda rows: Dataset.range(2).interleave(lambda _: rows, cycle_length=2),
        lambda rows: Dataset.range(2).flat_map(lambda _: rows).shuffle(3, seed=1).take(11).enumerate(),
        lambda rows: rows.window(4).flat_map(lambda window: window),
        lambda rows: rows.group_by_window(len, lambda key, window: window, window_size=2),
    ],
)
def test_rows_that_a_functions_dataset_made_are_ragged_as_they_are_without_it(within, options):
    rows = Dataset.range(9).map(lambda n: np.arange(n % 3)).ragged_batch(4).unbatch()
    rows = within(rows).with_options(options)
    batches = [flatten(batch)[0][-1] for batch in rows.batch(2)]
    wanted = [flatten(row)[0][-1] for row in rows]
    assert [row.tolist() for batch in batches for row in batch] == [row.tolist() for row in wanted]
    assert {type(batch) for batch in batches} <= {ps.Ragged}
