"""`padded_batch`: shapes, fills, what cannot be padded, and that it stays indexed."""

from __future__ import annotations

import re

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.spec import ArraySpec
from penstock.ops.group.grouping import Groups
from penstock.ops.group.padded import PaddedBatch
from penstock.testing.laws import difference

WORDS = [np.arange(row % 4, dtype=np.int32) + row for row in range(7)]
LISTED = Dataset.from_source(WORDS)
ROWS = Dataset.from_tensor_slices(ps.Ragged.from_rows(WORDS))


def expected(size, *, width=None, fill=0, drop=False):
    runs = [WORDS[low : low + size] for low in range(0, len(WORDS), size)]
    batches = []
    for run in runs:
        if len(run) == size or not drop:
            batch = np.full((len(run), max(map(len, run)) if width is None else width), fill, np.int32)
            for row, word in zip(batch, run, strict=True):
                row[: len(word)] = word
            batches.append(batch)
    return batches


def check(ds, wanted):
    made = list(ds)
    assert [difference(one, other) for one, other in zip(made, wanted, strict=True)] == [None] * len(wanted)
    assert len(ds) == len(wanted)
    assert [difference(ds[i], wanted[i]) for i in reversed(range(len(wanted)))] == [None] * len(wanted)
    assert all(batch.flags.writeable for batch in made)


@pytest.mark.parametrize("ds", [LISTED, ROWS, LISTED.map(np.copy)])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 9])
@pytest.mark.parametrize("drop", [False, True])
def test_rows_are_padded_to_the_longest_of_their_batch(ds, size, drop):
    check(ds.padded_batch(size, drop_remainder=drop), expected(size, drop=drop))


def groups_of_rows(lengths, size):
    values = [{"id": i, "x": np.ones(length)} for i, length in enumerate(lengths)]
    count = len(values) // size
    return Groups(np.arange(count), Items(values), np.arange(len(values)), np.full(count, size))


def refuse(shape, dtype):
    raise AssertionError(f"memory of its own for {dtype}{shape}")


def test_groups_of_one_shape_are_padded_in_their_places():
    out = [np.full((2, 2), 7), np.full((2, 2, 3), 7.0)]
    made = PaddedBatch(LISTED._plan, 2).collect_all(groups_of_rows([1, 3, 3, 2], 2), out, refuse)
    assert isinstance(made, Columns)
    assert all(map(np.shares_memory, made.columns, out))
    assert [array.tolist() for array in out] == [[[0, 1], [2, 3]], [[[1, 0, 0], [1, 1, 1]], [[1, 1, 1], [1, 1, 0]]]]


def test_groups_that_differ_in_shape_get_memory_where_they_do_not_fit():
    out = [np.full((2, 2), 7), np.full((2, 2, 3), 7.0)]
    made = PaddedBatch(LISTED._plan, 2).collect_all(groups_of_rows([1, 3, 1, 1], 2), out, np.empty).elements()
    assert [batch["x"].tolist() for batch in made] == [[[1, 0, 0], [1, 1, 1]], [[1], [1]]]
    assert [np.shares_memory(batch["x"], out[1]) for batch in made] == [True, False]
    assert [np.shares_memory(batch["id"], out[0]) for batch in made] == [True, True]


@pytest.mark.parametrize("shape", [[5], (5,), np.array([5])])
def test_padded_shapes_and_padding_values_set_shape_and_fill(shape):
    check(ROWS.padded_batch(3, shape, -1), expected(3, width=5, fill=-1))
    check(LISTED.padded_batch(3, shape, np.int32(-1)), expected(3, width=5, fill=-1))
    check(LISTED.padded_batch(3, [None]), expected(3))
    check(LISTED.padded_batch(3, [-1]), expected(3))


def test_shapes_and_fills_may_differ_from_leaf_to_leaf():
    data = {
        "t": ps.Ragged.from_rows([[1], [2, 3]]),
        "m": np.zeros((2, 2, 2), np.float32),
        "y": [7, 8],
        "n": ["a", "bc"],
    }
    ds = Dataset.from_tensor_slices(data).padded_batch(2, {"t": [None], "m": [2, 3], "y": (), "n": None}, {
        "t": -1, "m": 0.5, "y": None, "n": None,
    })  # fmt: skip
    (batch,) = ds
    assert batch["t"].tolist() == [[1, -1], [2, 3]]
    assert batch["m"].tolist() == [[[0, 0, 0.5]] * 2] * 2
    assert batch["y"].tolist() == [7, 8]
    assert batch["n"].tolist() == ["a", "bc"]
    spec = ds.element_spec
    assert repr(spec) == "{'t': int64[2, ?], 'm': float32[2, 2, 3], 'y': int64[2], 'n': object[2]}"


def test_one_fill_applies_to_every_padded_leaf():
    ds = Dataset.from_tensor_slices({"t": ps.Ragged.from_rows([[1], [2, 3]]), "n": ["a", "b"]})
    assert ds.padded_batch(2, padding_values=-1)[0]["t"].tolist() == [[1, -1], [2, 3]]


@pytest.mark.parametrize(
    ("rows", "arguments"),
    [
        ([{"t": np.ones(2, np.bool_)}] * 5, {}),
        ([{"t": np.arange(i % 3), "ok": i % 2 == 0} for i in range(5)], {"remainder": "pad"}),
        ([{"t": np.arange(i % 3), "name": "a"} for i in range(5)], {"remainder": "pad"}),
    ],
)
def test_a_fill_of_another_type_is_refused_in_the_first_batch_that_has_such_a_leaf(rows, arguments):
    ds = Dataset.from_source(rows).padded_batch(2, padding_values=0, **arguments)
    for batches in (ds, ds.map(lambda batch: batch), ds.with_options(ps.Options(executor="inline"))):
        with pytest.raises(TypeError, match=r"padding_values=\): 0 for"):
            next(iter(batches))
    assert len(list(Dataset.from_source(rows).padded_batch(2, **arguments))) == 3


def test_a_fill_is_not_compared_with_numbers_that_are_never_padded():
    rows = [{"t": np.arange(i % 3), "ok": i % 2 == 0, "name": "a"} for i in range(5)]
    assert len(list(Dataset.from_source(rows).padded_batch(2, padding_values=0))) == 3


def test_text_and_bytes_in_one_leaf_are_refused():
    with pytest.raises(ElementError, match=r'rows 0 and 1 differ at \["t"\]: str against bytes'):
        list(Dataset.from_source([{"t": "a"}, {"t": b"b"}]).padded_batch(2))


def test_the_spec_is_that_of_the_elements():
    assert ROWS.padded_batch(3).element_spec == ArraySpec((None, None), "i4")
    assert ROWS.padded_batch(3, [5]).element_spec == ArraySpec((None, 5), "i4")
    assert ROWS.padded_batch(7).element_spec == ArraySpec((7, None), "i4")
    fixed = Dataset.from_tensor_slices(np.zeros((4, 2, 3)))
    assert fixed.padded_batch(2).element_spec == ArraySpec((2, 2, 3), "f8")
    assert fixed.padded_batch(2, [None, 5]).element_spec == ArraySpec((2, 2, 5), "f8")


@pytest.mark.parametrize(
    ("data", "arguments", "error", "message"),
    [
        (np.zeros((2, 3)), {"padded_shapes": [2]}, PlanError, r"float64\[3\] does not fit into the shape \[2\]"),
        (np.zeros((2, 3)), {"padded_shapes": [3, 3]}, PlanError, "does not fit into the shape"),
        ([1, 2], {"padded_shapes": [3]}, PlanError, "int64 does not fit into the shape"),
        ({"a": [1]}, {"padded_shapes": {"b": []}}, PlanError, r"padded_shapes={'b': \[\]}\): expected a shape"),
        ({"a": [1]}, {"padded_shapes": "a"}, PlanError, r"padded_shapes='a'\): expected a shape"),
        ([1], {"padding_values": [1, 2]}, PlanError, r"padding_values=\[1, 2\]\): expected a number"),
        (np.zeros((2, 3)), {"padding_values": "a"}, TypeError, "'a' for values of float64"),
        (np.zeros((2, 3), "i4"), {"padding_values": np.int64(1)}, TypeError, "1 of int64 for values of int32"),
        (np.zeros((2, 3), "u1"), {"padding_values": 256}, ValueError, "256 does not fit uint8"),
        (ps.Sparse.from_dense([[1]]), {}, TypeError, r"sparse int64\[1\] is not padded; use batch"),
        (ps.Ragged([1], [0, 1]).fold(1), {}, TypeError, r"ragged int64\[\?, ~\] is not padded"),
    ],
)
def test_batches_that_must_fail_are_refused_when_the_pipeline_is_built(data, arguments, error, message):
    with pytest.raises(error, match=message):
        Dataset.from_tensor_slices(data).padded_batch(2, **arguments)


def test_errors_of_elements_name_row_and_leaf():
    ds = Dataset.from_tensor_slices({"t": ps.Ragged.from_rows([[1], [2], [3], [4, 5]])}).padded_batch(2, [1])
    assert ds[0]["t"].tolist() == [[1], [2]]
    with pytest.raises(ElementError, match=r'padded_batch: row 3 has shape \(2,\) at \["t"\], larger than') as caught:
        list(ds)
    assert "in padded_batch(2, padded_shapes=[1]), at row 1" in caught.value.__notes__
    mixed = Dataset.from_source([np.zeros(2), np.zeros((1, 1))])
    with pytest.raises(ElementError, match="padded_batch: elements of rows 0 and 1 differ"):
        list(mixed.padded_batch(2))
    with pytest.raises(TypeError, match="padded_batch: the values are Ragged"):
        list(Dataset.range(2).map(lambda x: ps.Ragged([x], [0, 1])).padded_batch(2))


def test_counts_and_flags_are_checked():
    with pytest.raises(ValueError, match=r"padded_batch\(batch_size=0\): expected at least 1"):
        LISTED.padded_batch(0)
    with pytest.raises(TypeError, match="drop_remainder=3"):
        LISTED.padded_batch(2, drop_remainder=3)


def test_streams_are_padded():
    ds = ROWS.filter(lambda word: len(word) != 2).padded_batch(2)
    kept = [word for word in WORDS if len(word) != 2]
    for batch, low in zip(ds, range(0, len(kept), 2), strict=True):
        for row, word in zip(batch, kept[low : low + 2], strict=False):
            assert row.tolist() == [*word.tolist(), *[0] * (batch.shape[1] - len(word))]


def test_fingerprint_and_label_have_all_arguments():
    assert ROWS.padded_batch(2, [4], -1).explain().splitlines()[2].split("  ")[1] == (
        "padded_batch(2, padded_shapes=[4], padding_values=-1)"
    )
    prints = {ROWS.padded_batch(2, shape, fill).fingerprint() for shape in (None, [4], [5]) for fill in (None, -1)}
    assert len(prints) == 6
    shapes = [4]
    ds = ROWS.padded_batch(2, shapes)
    shapes[0] = 9
    assert ds.element_spec.shape[1] == 4


@pytest.mark.parametrize(
    ("ds", "where"),
    [
        (Dataset.range(7).window(3), ""),
        (Dataset.range(7).filter(lambda x: True).window(3), ""),
        (Dataset.range(7).map(lambda x: {"a": x}).window(3), ' at ["a"]'),
        (Dataset.zip((Dataset.range(3), Dataset.range(7).window(3))), " at [1]"),
        (Dataset.range(3).map(Dataset.range), ""),
    ],
)
def test_datasets_are_refused_by_padded_batch_and_kept_by_batch(ds, where):
    with pytest.raises(
        TypeError, match=re.escape(f"padded_batch: the values{where} are datasets, which cannot be padd")
    ):
        list(ds.padded_batch(2))
    with pytest.raises(TypeError, match=r"bucket_by_sequence_length: the values.* are datasets"):
        list(ds.bucket_by_sequence_length(lambda *element: 1, [3], [2, 2]))
    assert len(list(ds.batch(2))) == 2


def test_windows_are_refused_before_anything_runs():
    with pytest.raises(TypeError, match="the values are datasets"):
        Dataset.range(7).window(3).padded_batch(2)


def test_arrays_with_different_numbers_of_dimensions_name_the_remedy():
    ds = Dataset.range(4).map(lambda x: np.zeros((2,) * (x % 2 + 1)))
    for batches in (ds.padded_batch(2), ds.ragged_batch(2), ds.filter(lambda x: True).padded_batch(2)):
        with pytest.raises(ElementError, match=r"rows 0 and 1 differ: .*return the same number of dimensions"):
            list(batches)
