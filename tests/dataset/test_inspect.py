"""Descriptions of a dataset: its repr, length and structure."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset, Options, image
from penstock.core.errors import PlanError
from penstock.elements.spec import ArraySpec, ObjectSpec

INT = ArraySpec((), np.dtype(np.int64))


def never(x):
    raise AssertionError("called")


# Cardinality: the table of tf.data, for a finite dataset of 7, an endless one and an empty one

INPUTS = [Dataset.range(7), Dataset.counter(), Dataset.range(0)]
TABLE = {
    "map": (lambda ds: ds.map(never), 7, -1, 0),
    "enumerate": (lambda ds: ds.enumerate(), 7, -1, 0),
    "shuffle": (lambda ds: ds.shuffle(3), 7, -1, 0),
    "prefetch": (lambda ds: ds.prefetch(2), 7, -1, 0),
    "with_options": (lambda ds: ds.with_options(Options()), 7, -1, 0),
    "batch": (lambda ds: ds.batch(3), 3, -1, 0),
    "batch, drop": (lambda ds: ds.batch(3, drop_remainder=True), 2, -1, 0),
    "take": (lambda ds: ds.take(3), 3, 3, 0),
    "skip": (lambda ds: ds.skip(3), 4, -1, 0),
    "repeat(2)": (lambda ds: ds.repeat(2), 14, -1, 0),
    "repeat(0)": (lambda ds: ds.repeat(0), 0, 0, 0),
    "repeat()": (lambda ds: ds.repeat(), -1, -1, 0),
    "shard": (lambda ds: ds.shard(3, 0), 3, -1, 0),
    "zip with 3": (lambda ds: Dataset.zip(ds, Dataset.range(3)), 3, 3, 0),
    "zip with endless": (lambda ds: Dataset.zip(ds, Dataset.counter()), 7, -1, 0),
    "concatenate 2": (lambda ds: ds.concatenate(Dataset.range(2)), 9, -1, 2),
}


@pytest.mark.parametrize("operation", TABLE)
def test_cardinality(operation):
    function, *lengths = TABLE[operation]
    assert [function(ds).cardinality() for ds in INPUTS] == lengths


def test_len_is_the_cardinality_where_there_is_an_end():
    assert len(Dataset.range(10).batch(3)) == 4
    with pytest.raises(TypeError, match="never ends"):
        len(Dataset.counter())
    assert Dataset.counter().cardinality() == INFINITE


def test_a_dataset_is_true_unless_it_is_empty():
    assert Dataset.range(1)
    assert Dataset.counter()
    assert not Dataset.range(0)


# Spec


@pytest.mark.parametrize(
    ("ds", "spec"),
    [
        (Dataset.range(3), INT),
        (Dataset.range(3, output_type=np.int32), ArraySpec((), np.dtype(np.int32))),
        (Dataset.from_tensors(np.zeros((2, 3))), ArraySpec((2, 3), np.dtype(np.float64))),
        (Dataset.from_tensor_slices({"x": np.zeros((5, 2), "f4")}), {"x": ArraySpec((2,), np.dtype("f4"))}),
        (Dataset.from_tensor_slices(["a", "b"]), ObjectSpec(str)),
        (Dataset.from_tensor_slices([b"a"]).batch(1), ArraySpec((1,), np.dtype(object))),
        (Dataset.zip(Dataset.range(3), Dataset.range(4)).shuffle().enumerate(), (INT, (INT, INT))),
        (Dataset.from_tensor_slices([b""]).map(image.decode()), ArraySpec((None, None, 3), np.dtype(np.uint8))),
    ],
)
def test_facts_known_from_the_plan_need_no_run(ds, spec):
    assert ds.element_spec == spec


def test_python_functions_are_called_once_however_many_there_are():
    calls = []

    def counted(name):
        return lambda x: calls.append(name) or (x, float(x))[-1]

    ds = Dataset.range(5).map(counted("a")).shuffle().map(counted("b")).batch(2).map(counted("c") and np.sum)
    assert ds.element_spec == ArraySpec((), np.dtype(np.float64))
    assert sorted(set(calls)) == ["a", "b"]
    assert len(calls) == 4  # the one batch of two that np.sum needs
    assert ds.element_spec is not None
    assert len(calls) == 4


def test_declarative_functions_find_the_spec_after_python_functions():
    def path(x):
        return b"never decoded"

    ds = Dataset.range(3).map(path).map(image.decode()).batch(2)
    assert ds.element_spec == ArraySpec((None, None, None, 3), np.dtype(np.uint8))


def test_the_spec_of_functions_over_an_empty_dataset_is_an_error():
    with pytest.raises(PlanError, match=r"element_spec: map\(.*never\) yields no element"):
        _ = Dataset.range(0).map(never).element_spec
    assert Dataset.range(0).batch(2).element_spec == ArraySpec((2,), np.dtype(np.int64))


# Single elements


@pytest.mark.parametrize("row", [0, 3, 9, -1, -10, np.int64(4)])
def test_an_element_by_row_is_that_of_the_first_epoch(row):
    ds = Dataset.range(10).shuffle(seed=0).map(lambda x: x + 100)
    assert ds[row] == list(ds.iterator(epoch=0))[row]
    assert ds[2, row] == list(ds.iterator(epoch=2))[row]


@pytest.mark.parametrize("row", [10, -11, 2**70, (0, 10), (-1, 0)])
def test_a_row_out_of_range_is_an_index_error(row):
    with pytest.raises(IndexError):
        Dataset.range(10)[row]


@pytest.mark.parametrize(
    ("row", "says"), [("a", r"ds\['a'\]"), (1.5, r"ds\[1.5\]"), ((1, 2, 3), r"ds\[1, 2, 3\]"), (None, "None")]
)
def test_values_that_are_no_rows_are_a_type_error(row, says):
    with pytest.raises(TypeError, match=says):
        Dataset.range(10)[row]


def test_an_endless_dataset_has_rows_from_the_front():
    assert Dataset.counter()[10**9] == 10**9
    with pytest.raises(IndexError, match="endless"):
        Dataset.counter()[-1]


def test_an_empty_dataset_has_none():
    with pytest.raises(IndexError, match="0 elements"):
        Dataset.range(0)[0]


# Words


def test_repr_shows_the_chain_and_calls_no_function():
    ds = Dataset.range(1_000).map(never).batch(4)
    assert repr(ds).startswith("<Dataset of 250: ? | range(1000) → map(")
    assert repr(Dataset.counter()) == "<Dataset of endless: int64 | counter(0, 1)>"
    zipped = Dataset.zip({"a": Dataset.range(2), "b": Dataset.range(3)}).take(1)
    assert repr(zipped) == '<Dataset of 1: {"a": int64, "b": int64} | zip(range(2); range(3)) → take(1)>'


def test_repr_shows_a_spec_found_by_running():
    ds = Dataset.range(4).map(float)
    assert ": ? |" in repr(ds)
    assert ds.element_spec is not None
    assert ": float64 |" in repr(ds)


def test_class_names_come_from_the_source_or_are_missing():
    with pytest.raises(AttributeError, match="read_image_folder"):
        _ = Dataset.range(3).class_names
    assert not hasattr(Dataset.range(3), "class_names")
