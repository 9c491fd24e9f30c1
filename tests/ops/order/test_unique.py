"""`unique`: first occurrences."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNKNOWN, Dataset, Options
from penstock.core.errors import ElementError
from penstock.elements.distinct import distinct
from penstock.ops.elementwise.beside import Beside
from penstock.ops.order.unique import Unique
from penstock.ops.read.given import Given
from penstock.testing.laws import multiset, verify_resume
from tests.plan.flows import assert_streams


@given(st.lists(st.integers(-3, 3), max_size=300), st.sampled_from([Options(), Options(executor="threads", workers=2)]))
def test_first_occurrences_are_kept_in_order(numbers, options):
    wanted = list(dict.fromkeys(numbers))
    for ds in (Dataset.from_source(numbers), Dataset.from_source(numbers).filter(lambda x: True)):
        assert list(ds.unique().with_options(options)) == wanted
    if numbers:
        assert list(Dataset.from_tensor_slices(np.array(numbers, np.int32)).unique()) == wanted


def test_arrays_are_compared_whole_with_dtype_and_shape():
    elements = [np.zeros(2), np.zeros(2), np.zeros(3), np.zeros(2, np.float32), np.zeros((1, 2)), np.array([0.0, 1.0])]
    assert multiset(Dataset.from_source(elements).unique()) == multiset(elements[1:])


def test_nested_elements_are_compared_leaf_by_leaf():
    elements = [{"x": np.arange(2), "y": "a"}, {"x": np.arange(2), "y": "b"}, {"x": np.arange(2), "y": "a"}]
    assert [element["y"] for element in Dataset.from_source(elements).unique()] == ["a", "b"]


def test_elements_are_compared_by_their_key():
    ds = Dataset.from_source(["a", "Bee", "A", "b", "cc", "bee"])
    assert list(ds.unique(str.lower)) == ["a", "Bee", "b", "cc"]
    assert list(ds.unique(len)) == ["a", "Bee", "cc"]
    assert list(ds.enumerate().unique(lambda n, text: n // 2)) == [(0, "a"), (2, "A"), (4, "cc")]
    assert list(ds.unique(lambda text: None)) == ["a"]


def test_every_epoch_starts_from_the_beginning():
    assert list(Dataset.from_source([1, 1, 2]).unique().repeat(2)) == [1, 2, 1, 2]
    assert list(Dataset.from_source([1, 1, 2]).repeat(2).unique()) == [1, 2]


def test_an_endless_dataset_yields_all_distinct_elements():
    assert list(islice(Dataset.range(5).repeat().unique(), 5)) == [0, 1, 2, 3, 4]


def test_the_length_is_known_only_by_iterating():
    assert Dataset.range(3).unique().cardinality() == UNKNOWN


def test_elements_keep_their_spec():
    assert Dataset.range(9).batch(2).unique().element_spec == Dataset.range(9).batch(2).element_spec


def test_a_restored_iterator_continues_exactly():
    numbers = [x * x % 17 for x in range(60)]
    verify_resume(Dataset.from_source(numbers).unique())
    verify_resume(Dataset.from_source(numbers).filter(lambda x: x > 2).unique(lambda x: x // 2).repeat(2).batch(2))
    verify_resume(Dataset.from_source(numbers).unique(), options=Options(executor="threads", workers=2))


def test_the_boundaries_of_pieces_do_not_matter():
    numbers = [x * x % 11 for x in range(20)]
    node = Unique(Beside(Given(), "key", None, distinct))
    assert_streams(node, [[(x, x) for x in numbers]], list(dict.fromkeys(numbers)))


def test_explain_shows_the_work_that_a_restore_repeats():
    assert "restored, unique() runs through the epoch again" in Dataset.range(3).unique().explain()


def test_objects_that_only_equal_themselves_are_refused():
    class Plain:
        pass

    with pytest.raises(ElementError, match="pass a key_func=") as caught:
        list(Dataset.from_source([1, Plain()]).unique())
    assert any("unique()" in note for note in caught.value.__notes__)


def test_mistakes_are_found_when_the_pipeline_is_built():
    with pytest.raises(TypeError, match="expected a function"):
        Dataset.range(2).unique("name")
