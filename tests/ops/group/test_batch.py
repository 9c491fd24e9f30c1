"""`batch`: shapes, dtypes, the last one, and elements that do not fit."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock import INFINITE, Dataset, Options
from penstock.core.errors import ElementError
from penstock.elements.spec import ArraySpec
from tests.plan.flows import assert_streams

SIZES = [0, 1, 2, 3, 7, 8, 9, 15, 16, 17]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("batch", [1, 2, 3, 8, 100])
@pytest.mark.parametrize("drop", [False, True])
def test_batches_are_runs_of_elements(size, batch, drop):
    ds = Dataset.range(size).batch(batch, drop)
    whole = [list(range(size))[low : low + batch] for low in range(0, size, batch)]
    expected = [part for part in whole if len(part) == batch or not drop]
    assert [made.tolist() for made in ds] == expected
    assert len(ds) == len(expected)
    assert [ds[row].tolist() for row in range(len(ds))] == expected


def test_the_dropped_remainder_differs_from_epoch_to_epoch():
    ds = Dataset.range(10).shuffle(seed=0).batch(4, drop_remainder=True)
    seen = [{x for batch in ds.iterator(epoch=epoch) for x in batch.tolist()} for epoch in range(20)]
    assert all(len(epoch) == 8 for epoch in seen)
    assert len(set(map(frozenset, seen))) > 1


def test_endless_datasets_are_supported():
    ds = Dataset.counter().batch(3)
    assert ds.cardinality() == INFINITE
    assert [batch.tolist() for batch in ds.take(2)] == [[0, 1, 2], [3, 4, 5]]
    assert ds.element_spec == ArraySpec((3,), np.dtype(np.int64))


def test_batches_cross_epochs_only_if_repeat_comes_before_batch():
    ds = Dataset.range(3)
    assert [b.tolist() for b in ds.repeat(2).batch(2)] == [[0, 1], [2, 0], [1, 2]]
    assert [b.tolist() for b in ds.batch(2).repeat(2)] == [[0, 1], [2], [0, 1], [2]]


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (3, "int64"),
        (3.0, "float64"),
        (True, "bool"),
        (1j, "complex128"),
        (np.float32(1), "float32"),
        (np.zeros((2, 3), np.uint8), "uint8"),
        ("text", "object"),
        (b"bytes", "object"),
        (object(), "object"),
    ],
)
def test_dtypes_of_python_numbers_are_int64_float64_and_bool(element, dtype):
    (batch,) = Dataset.from_source([element] * 2).batch(2)
    assert batch.dtype == dtype
    assert batch.shape == (2, *np.shape(element))
    assert batch[1] is element or np.array_equal(batch[1], element)


def test_bytes_keep_their_zeros():
    (batch,) = Dataset.from_source([b"a\0", b"\0\0"]).batch(2)
    assert batch.tolist() == [b"a\0", b"\0\0"]


def test_leaves_are_stacked_in_their_structure():
    ds = Dataset.from_tensor_slices({"b": np.zeros((5, 2), np.float32), "a": (np.arange(5), list("vwxyz"))})
    last = list(ds.batch(3))[1]
    assert list(last) == ["b", "a"]
    assert last["b"].shape == (2, 2)
    assert last["a"][0].tolist() == [3, 4]
    assert last["a"][1].tolist() == ["y", "z"]


def test_batches_do_not_share_memory_with_others():
    data = np.arange(6.0)
    batches = list(Dataset.from_tensor_slices(data).batch(3))
    for batch in batches:
        assert not np.shares_memory(batch, data)
        np.add(batch, 100, out=batch)
    assert data.tolist() == [0, 1, 2, 3, 4, 5]
    assert [batch.tolist() for batch in batches] == [[100, 101, 102], [103, 104, 105]]


def test_a_batch_that_is_kept_is_never_overwritten():
    data = np.arange(64 * 2048, dtype=np.float32).reshape(64, 2048)
    kept = list(Dataset.from_tensor_slices(data).batch(4).with_options(Options(workers=2)))
    np.testing.assert_array_equal(np.concatenate(kept), data)


def test_batches_of_batches_are_stacked_again():
    ds = Dataset.range(12).batch(3).batch(2)
    assert [batch.tolist() for batch in ds] == [[[0, 1, 2], [3, 4, 5]], [[6, 7, 8], [9, 10, 11]]]
    assert ds.element_spec == ArraySpec((2, 3), np.dtype(np.int64))
    with pytest.raises(ElementError, match=r"shape \(3,\) against \(1,\)"):
        list(Dataset.range(10).batch(3).batch(4))


@pytest.mark.filterwarnings("ignore:PS101")
def test_batches_before_other_operations_are_the_same():
    ds = Dataset.range(7).batch(3)
    assert [batch.tolist() for batch in ds.map(lambda x: x * 2)] == [[0, 2, 4], [6, 8, 10], [12]]
    assert [(n, batch.tolist()) for n, batch in ds.enumerate()] == [(0, [0, 1, 2]), (1, [3, 4, 5]), (2, [6])]
    assert [batch.tolist() for batch in ds.shuffle(seed=1)[::-1]] == [
        b.tolist() for b in list(ds.shuffle(seed=1))[::-1]
    ]


def test_the_batch_size_is_in_the_spec_if_all_batches_have_it():
    for ds, size in [
        (Dataset.range(9).batch(3), 3),
        (Dataset.range(9).batch(4), None),
        (Dataset.range(9).batch(4, drop_remainder=True), 4),
        (Dataset.range(9).repeat().batch(4), 4),
    ]:
        assert ds.element_spec.shape == (size,)


# Elements that do not fit


def batch_error(function, count=8):
    with pytest.raises(ElementError) as caught:
        list(Dataset.range(count).map(function).batch(4))
    return str(caught.value), "\n".join(caught.value.__notes__)


def test_another_shape_names_leaf_shapes_and_rows():
    message, notes = batch_error(lambda i: {"x": {"y": np.zeros(3 if i < 6 else 4)}})
    assert 'rows 4 and 6 differ at ["x"]["y"]: shape (3,) against (4,)' in message
    assert "batch 1" in notes
    assert "ds[1]" in notes


def test_another_dtype_names_leaf_dtypes_and_rows():
    message, _ = batch_error(lambda i: (i, 1 if i < 2 else 1.5))
    assert "rows 0 and 2 differ at [1]: dtype int64 against float64" in message


def test_another_structure_names_both_and_the_rows():
    message, _ = batch_error(lambda i: {"x": 1} if i < 3 else {"z": 1})
    assert "rows 0 and 3" in message
    assert '{"x": *} against {"z": *}' in message


@pytest.mark.parametrize("workers", [None, 2])
def test_a_shape_that_changes_in_row_10_000_is_found_there_after_all_batches_before(workers):
    ds = Dataset.range(10_050).map(lambda i: np.zeros(3 if i < 10_000 else 4)).batch(64)
    it = ds.with_options(Options(workers=workers)).iterator()
    received = 0
    with pytest.raises(ElementError, match=r"10000 differ: shape \(3,\) against \(4,\)"):  # noqa: PT012
        for _ in it:
            received += 1
    assert received == 10_000 // 64


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("shape", [(0,), (0, 2), (2, 0)], ids=str)
def test_arrays_without_values_make_batches(shape, executor):
    rows = np.zeros((5, *shape))
    for ds in (
        *(
            Dataset.from_tensor_slices(rows),
            Dataset.from_source(list(rows)),
            Dataset.range(5).map(lambda row: rows[row]),
        ),
        *(Dataset.from_tensor_slices(rows).shuffle(seed=0), Dataset.from_tensor_slices(rows).filter(lambda row: True)),
        Dataset.range(1).flat_map(lambda _: list(rows)),
    ):
        made = ds.batch(2).with_options(Options(executor=executor))
        assert [batch.shape for batch in made] == [(2, *shape), (2, *shape), (1, *shape)]
    rebatched = Dataset.from_tensor_slices(rows[None]).rebatch(2)
    assert [batch.shape for batch in rebatched] == [(2, *shape), (2, *shape), (1, *shape)]


def test_batches_may_differ_from_each_other():
    ds = Dataset.range(4).map(lambda i: np.zeros(2 + int(i) // 2)).batch(2)
    assert [batch.shape for batch in ds] == [(2, 2), (2, 3)]


def test_elements_without_a_leaf_make_batches_without_one():
    assert list(Dataset.range(2).map(lambda _: {"x": None}).batch(2)) == [{"x": None}]


@pytest.mark.parametrize("length", [0, 1, 2, 3, 6, 7])
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("drop", [False, True])
def test_streams_are_supported(length, size, drop):
    node = Dataset.range(1).batch(size, drop_remainder=drop)._plan
    values = np.arange(length)
    wanted = [values[low : low + size] for low in range(0, length, size)]
    assert_streams(node, [list(values)], [batch for batch in wanted if len(batch) == size or not drop])


def test_ragged_and_sparse_elements_batch_as_often_as_arrays():
    ragged = ps.Ragged.from_rows([[[1]], [], [[2], [3, 4]], [[]]])
    sparse = ps.Sparse.from_dense(np.eye(4))
    ds = Dataset.from_tensor_slices({"r": ragged, "s": sparse})
    once, twice = ds.batch(2), ds.map(lambda element: element).batch(2).batch(2)
    assert list(once) == [{"r": ragged[:2], "s": sparse[:2]}, {"r": ragged[2:], "s": sparse[2:]}]
    assert list(ds.batch(3))[1] == {"r": ragged[3:], "s": sparse[3:]}
    assert repr(once.batch(2).element_spec) == "{'r': ragged int64[2, ~, ~, ~], 's': sparse float64[2, 2, 4]}"
    for batches in (twice, once.batch(2)):
        (batch,) = batches
        assert batch == {"r": ragged.fold(2), "s": sparse.fold(2)}
        assert batch["r"].writeable
        assert batch["s"].writeable


def test_a_short_batch_inside_a_batch_takes_only_its_memory():
    ds = Dataset.from_tensor_slices(np.arange(3)).batch(2).batch(1)
    assert [batch.tolist() for batch in ds] == [[[0, 1]], [[2]]]


@pytest.mark.parametrize("executor", ["inline", "threads"])
@pytest.mark.parametrize("count", [5, 6, 7, 8])
def test_short_batches_among_others_leave_the_rest_of_a_slot_alone(count, executor):
    numbers, options = np.arange(1, count + 1), Options(executor=executor, ignore_lint=["all"])
    ds = Dataset.from_tensor_slices((numbers, -numbers)).batch(4, remainder="pad").repeat(9).shuffle(seed=5).batch(1)
    batches = [(*numbers[:4],), (*numbers[4:], *[0] * (8 - count))]
    for epoch in range(3):
        found = [
            (tuple(batch[0][0][0].tolist()), tuple(batch[0][1][0].tolist()))
            for batch in ds.with_options(options).iterator(epoch=epoch)
        ]
        assert sorted(found) == sorted(9 * [(batch, tuple(-number for number in batch)) for batch in batches])


def test_readers_of_text_write_into_the_array_of_the_batch(tmp_path):
    (tmp_path / "lines.txt").write_text("a\nb\nc\n")
    texts = ps.read_text(str(tmp_path / "lines.txt"))
    (memory,) = texts.batch(2)._plan.memory_below(None, np.arange(2), np.arange(3))
    assert (memory.shape, memory.dtype) == ((3,), object)
    pairs = Dataset.zip((texts, Dataset.range(3))).batch(2, drop_remainder=True)._plan
    text, number = pairs.memory_below(None, np.arange(1), np.arange(2))
    assert (text.shape, number.size) == ((2,), 0)
    assert Dataset.range(3).batch(2)._plan.memory_below(None, np.arange(2), np.arange(3)) is None
