"""The constructors, as a user meets them; their sources are tested in their own room."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset
from penstock.core.errors import PenstockError


@pytest.mark.parametrize("numbers", [(0,), (1,), (5,), (2, 7), (7, 2), (2, 9, 3), (9, 2, -3), (-5,), (5, 5)])
def test_range_counts_as_python_does(numbers):
    ds = Dataset.range(*numbers)
    assert list(ds) == list(range(*numbers))
    assert all(type(x) is int for x in ds)
    assert all(isinstance(x, np.int16) for x in Dataset.range(*numbers, output_type=np.int16))


@pytest.mark.parametrize(
    ("numbers", "error"), [((), TypeError), ((1, 2, 3, 4), TypeError), ((2.0,), TypeError), ((1, 5, 0), ValueError)]
)
def test_range_refuses_the_same_arguments_as_python(numbers, error):
    with pytest.raises(error, match="range"):
        Dataset.range(*numbers)


def test_counters_never_end():
    assert list(Dataset.counter(5, 0).take(3)) == [5, 5, 5]
    assert list(Dataset.counter(5, -2, np.int32).take(3)) == [5, 3, 1]
    assert Dataset.counter().cardinality() == INFINITE


def test_from_tensors_is_one_element():
    ds = Dataset.from_tensors({"x": np.arange(3), "y": "a"})
    assert len(ds) == 1
    assert ds[0]["x"].tolist() == [0, 1, 2]


def test_slices_are_views_of_the_array_that_cannot_be_written():
    data = np.arange(12.0).reshape(4, 3)
    ds = Dataset.from_tensor_slices({"x": data})
    element = ds[2]["x"]
    assert element.tolist() == [6, 7, 8]
    with pytest.raises(ValueError, match="read-only"):
        element[0] = 1
    in_order = list(ds)
    assert all(np.shares_memory(each["x"], data) for each in in_order)
    data[0, 0] = 100
    assert in_order[0]["x"][0] == 100


@pytest.mark.parametrize("wrong", [3, {}, {"a": [1, 2], "b": [1]}, None])
def test_values_without_rows_are_refused(wrong):
    with pytest.raises((PenstockError, TypeError), match="from_tensor_slices"):
        Dataset.from_tensor_slices(wrong)


def test_no_rows_make_an_empty_dataset():
    assert list(Dataset.from_tensor_slices(np.zeros((0, 3)))) == []
    assert list(Dataset.from_tensor_slices([]).batch(2)) == []
    assert list(Dataset.from_source([]).map(str).batch(2)) == []


def test_any_object_with_a_length_and_items_is_a_source():
    class Squares:
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return {"i": i, "square": i * i}

    ds = Dataset.from_source(Squares()).shuffle(seed=0)
    assert sorted(element["square"] for element in ds) == [0, 1, 4, 9]
    with pytest.raises(TypeError, match=r"from_source\(Squares\): this is the class|class"):
        Dataset.from_source(Squares)


def test_files_are_listed_sorted_and_no_match_is_an_error(tmp_path):
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).touch()
    ds = Dataset.list_files(str(tmp_path / "*.txt"))
    assert [path.rpartition("/")[2] for path in ds] == ["a.txt", "b.txt"]
    with pytest.raises(FileNotFoundError, match=r"\*\.png"):
        Dataset.list_files(tmp_path / "*.png")


def test_a_list_of_datasets_has_datasets_as_elements():
    ds = Dataset.from_tensor_slices([Dataset.range(2), Dataset.range(10, 13)])
    assert len(ds) == 2
    assert list(ds.flat_map(lambda each: each)) == [0, 1, 10, 11, 12]
    assert list(ds.interleave(lambda each: each, cycle_length=2)) == [0, 10, 1, 11, 12]
