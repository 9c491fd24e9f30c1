"""`tf_data.experimental`: older spellings."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from penstock import tf_data as data
from penstock.tf_data import experimental

APPLIED = {
    "assert_cardinality": (experimental.assert_cardinality(5), [0, 1, 2, 3, 4]),
    "enumerate_dataset": (experimental.enumerate_dataset(start=7), [(7, 0), (8, 1), (9, 2), (10, 3), (11, 4)]),
    "ignore_errors": (experimental.ignore_errors(), [0, 1, 2, 3, 4]),
    "scan": (experimental.scan(0, lambda total, x: (total + x, total + x)), [0, 1, 3, 6, 10]),
    "group_by_reducer": (
        experimental.group_by_reducer(
            lambda x: x % 2, experimental.Reducer(lambda key: 0, lambda total, x: total + x, lambda total: total * 10)
        ),
        [60, 40],
    ),
    "take_while": (experimental.take_while(lambda x: x < 2), [0, 1]),
    "unique": (experimental.unique(), [0, 1, 2, 3, 4]),
    "parallel_interleave": (
        experimental.parallel_interleave(lambda x: data.Dataset.from_tensors(x).repeat(2), cycle_length=5),
        [*range(5), *range(5)],
    ),
}


@pytest.mark.parametrize("name", APPLIED)
def test_experimental_functions_work_with_apply(name):
    function, expected = APPLIED[name]
    ds = data.Dataset.range(5).apply(function)
    assert type(ds) is data.Dataset
    assert list(ds) == expected


def test_snapshot_works_with_apply(tmp_path):
    assert list(data.Dataset.range(3).apply(experimental.snapshot(str(tmp_path)))) == [0, 1, 2]


def test_experimental_batching_functions_work_with_apply():
    batched = data.Dataset.range(5).apply(experimental.map_and_batch(lambda x: x + 1, 2, drop_remainder=True))
    assert [batch.tolist() for batch in batched] == [[1, 2], [3, 4]]
    assert list(batched.apply(experimental.unbatch())) == [1, 2, 3, 4]
    ragged = data.Dataset.range(1, 3).map(np.arange).apply(experimental.dense_to_ragged_batch(2))
    assert [[row.tolist() for row in batch] for batch in ragged] == [[[0], [0, 1]]]
    (sparse,) = data.Dataset.range(1, 3).map(np.arange).apply(experimental.dense_to_sparse_batch(2, [4]))
    assert sparse.shape == (2, 4)


def test_padding_to_a_cardinality():
    ds = data.Dataset.from_tensor_slices({"x": [5]}).apply(experimental.pad_to_cardinality(2))
    assert list(ds) == [{"x": 5, "valid": True}, {"x": 0, "valid": False}]


def test_shuffle_and_repeat():
    ds = data.Dataset.range(4).apply(experimental.shuffle_and_repeat(4, count=2, seed=1))
    elements = list(ds)
    assert sorted(elements[:4]) == sorted(elements[4:]) == [0, 1, 2, 3]


def test_choices_of_an_empty_dataset_are_skipped():
    datasets = [data.Dataset.range(1), data.Dataset.range(10, 13)]
    choices = data.Dataset.from_tensor_slices(np.array([0, 0, 1, 1]))
    assert list(experimental.choose_from_datasets(datasets, choices)) == [0, 10, 11]
    assert list(data.Dataset.choose_from_datasets(datasets, choices)) == [0]


def test_at_counts_from_the_front():
    ds = data.Dataset.range(5).shuffle(5, seed=1, reshuffle_each_iteration=False)
    assert [experimental.at(ds, at) for at in range(5)] == list(ds)
    for outside in (-1, 5):
        with pytest.raises(IndexError):
            experimental.at(ds, outside)
    with pytest.raises(TypeError, match="whole number"):
        experimental.at(ds, "0")


def test_functions_of_datasets(tmp_path):
    ds = experimental.from_list(["a", "b"])
    assert experimental.cardinality(ds) == 2
    assert experimental.get_single_element(ds.take(1)) == "a"
    assert experimental.get_structure(ds) == data.TensorSpec((), str)
    experimental.save(ds, tmp_path / "x")
    assert list(experimental.load(tmp_path / "x")) == ["a", "b"]
    assert list(experimental.Counter(2).take(2)) == [2, 3]
    assert list(experimental.RandomDataset(seed=1).take(2)) == list(data.Dataset.random(seed=1).take(2))
    assert experimental.INFINITE_CARDINALITY == experimental.cardinality(ds.repeat()) == -1
    assert experimental.UNKNOWN_CARDINALITY == experimental.cardinality(ds.filter(bool)) == -2


def test_all_experimental_names_exist():
    assert all(hasattr(experimental, name) for name in experimental.__all__)


def test_signatures_show_all_arguments():
    assert list(inspect.signature(data.Dataset.batch).parameters)[-1] == "name"
    assert next(iter(inspect.signature(experimental.dense_to_ragged_batch).parameters)) == "batch_size"
    assert "self" not in inspect.signature(experimental.unbatch).parameters
