"""`filter`: the elements that a function wants."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from penstock import UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import ArraySpec
from penstock.testing.laws import same, verify_determinism, verify_resume

SIZES = [0, 1, 2, 3, 7, 8, 9, 63, 64, 65, 1023, 1025]
INLINE = Options(executor="inline")


class Point(NamedTuple):
    x: int
    y: int


def even(x):
    return x % 2 == 0


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("vectorized", [False, True])
def test_filter_keeps_accepted_elements_in_order(size, vectorized):
    ds = Dataset.range(size)
    wanted = [x for x in range(size) if x % 2 == 0]
    assert list(ds.filter(even, vectorized=vectorized)) == wanted
    assert list(ds.filter(lambda x: x < 0, vectorized=vectorized)) == []
    assert list(ds.filter(lambda x: x >= 0, vectorized=vectorized)) == list(range(size))


def test_the_length_of_a_filter_is_known_only_by_iterating():
    for ds in (Dataset.range(9), Dataset.range(0), Dataset.counter(), Dataset.range(9).filter(even)):
        stream = ds.filter(even)
        assert stream.cardinality() == UNKNOWN
        with pytest.raises(TypeError, match="known only by iterating"):
            len(stream)
    with pytest.raises(PlanError, match="stream"):
        Dataset.range(9).filter(even)[0]


@pytest.mark.parametrize(
    ("ds", "predicate", "wanted"),
    [
        (Dataset.from_tensor_slices(([1, 2], [3, 0])), lambda a, b: a < b, [(1, 3)]),
        (Dataset.from_tensor_slices({"a": [1, 2]}), lambda element: element["a"] > 1, [{"a": 2}]),
        (Dataset.from_source([Point(1, 2), Point(2, 1)]), lambda point: point.x < point.y, [Point(1, 2)]),
        (Dataset.from_source([[1, 2], [3]]), lambda numbers: len(numbers) == 1, [[3]]),
        (Dataset.from_source(["a", "", "b"]), lambda text: text != "", ["a", "b"]),
    ],
    ids=["tuple", "dict", "named tuple", "list", "text"],
)
def test_a_predicate_gets_elements_as_map_passes_them_and_leaves_them_unchanged(ds, predicate, wanted):
    made = list(ds.filter(predicate))
    assert len(made) == len(wanted)
    assert all(type(one) is type(other) for one, other in zip(made, wanted, strict=True))
    assert made == wanted


def test_kept_arrays_are_equal_to_the_last_bit():
    values = np.random.default_rng(0).random((50, 3), np.float32)
    made = list(Dataset.from_tensor_slices(values).filter(lambda row: bool(row[0] > 0.5)))
    assert same(made, list(values[values[:, 0] > 0.5]))


@pytest.mark.parametrize("flag", [True, np.True_, np.array(True)], ids=["bool", "np.bool_", "0-d array"])
def test_the_predicate_returns_a_bool_of_any_kind(flag):
    assert list(Dataset.range(3).filter(lambda x: flag)) == [0, 1, 2]
    assert list(Dataset.range(3).filter(lambda x: ~np.asarray(flag))) == []


@pytest.mark.parametrize(
    "flag", [1, 0, "yes", np.int64(1), np.array([True]), np.zeros(0, bool), (True,), 0.0], ids=repr
)
def test_other_results_of_a_predicate_are_refused_and_shown(flag):
    with pytest.raises(ElementError, match="filter: the predicate returned") as caught:
        list(Dataset.range(9).filter(lambda x: flag if x == 5 else True))
    assert repr(flag)[:20] in str(caught.value)
    assert "made from the number 5" in "\n".join(caught.value.__notes__)
    with pytest.raises(ElementError):
        list(Dataset.range(9).filter(lambda x: None))


@pytest.mark.parametrize(
    "columns",
    [lambda x: x, lambda x: x[1:] > 0, lambda x: True, lambda x: np.zeros((len(x), 2), bool)],
    ids=["numbers", "too few", "one", "of two dimensions"],
)
def test_columns_need_a_bool_for_every_element(columns):
    with pytest.raises(ElementError):
        list(Dataset.range(9).filter(columns, vectorized=True))


def test_random_predicates_depend_on_the_element_and_the_epoch_only():
    def lucky(x, *, rng):
        return rng.random() < 0.5

    ds = Dataset.range(200).filter(lucky).with_options(Options(seed=3))
    epochs = [list(ds.iterator(epoch=epoch)) for epoch in range(3)]
    assert len({tuple(epoch) for epoch in epochs}) == 3
    assert all(60 < len(epoch) < 140 for epoch in epochs)
    verify_determinism(ds, epoch=1)
    verify_resume(ds, epoch=1)
    assert list(Dataset.range(200).filter(lucky)) != list(Dataset.range(200).filter(lucky))


def test_two_filters_apply_in_turn():
    seen = []
    ds = Dataset.range(30).filter(even).filter(lambda x: seen.append(x) or x % 3 == 0).with_options(INLINE)
    assert list(ds) == [0, 6, 12, 18, 24]
    assert seen == list(range(0, 30, 2))


def test_the_spec_of_a_filter_is_that_of_its_input():
    spec = Dataset.range(9).filter(even).element_spec
    assert spec == ArraySpec((), np.dtype(np.int64))
    assert Dataset.range(9).filter(even).batch(2).element_spec == ArraySpec((None,), np.dtype(np.int64))


def test_an_invalid_predicate_is_refused_when_the_pipeline_is_built():
    with pytest.raises(TypeError, match="expected a function, not int"):
        Dataset.range(3).filter(3)
    with pytest.raises(TypeError, match="vectorized"):
        Dataset.range(3).filter(even, vectorized=1)
    with pytest.raises(PlanError, match="rng"):
        Dataset.range(3).filter(lambda x, rng: x, vectorized=True)


def test_explain_shows_the_function_of_a_filter():
    assert Dataset.range(3).filter(even)._plan.label() == "filter(even)"
    assert Dataset.range(3).filter(even, vectorized=True)._plan.label() == "filter(even, vectorized=True)"


def test_compiling_without_a_seed_is_an_error():
    node = Dataset.range(3).filter(lambda x, *, rng: True)._plan
    with pytest.raises(RuntimeError, match="bind_seeds"):
        node.spread(np.empty)
