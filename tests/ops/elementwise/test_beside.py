"""Results of a function about elements, kept alongside them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import flatten
from penstock.elements.spec import ObjectSpec
from penstock.ops.elementwise.beside import Beside, parted, truth, whole_number

PAIR = flatten((0, 0))[1]


def pairs(ds, function, read=whole_number):
    node = Beside(ds._plan, "key", function, read)
    return node, Dataset(node)


def test_results_are_paired_with_their_elements():
    for ds in (Dataset.range(3), Dataset.range(3).map(lambda x: x), Dataset.range(3).filter(lambda x: True)):
        assert list(pairs(ds, lambda x: -x)[1]) == [(0, 0), (-1, 1), (-2, 2)]


def test_a_tuple_is_passed_as_arguments():
    assert list(pairs(Dataset.range(2).enumerate(5), lambda n, x: n + x)[1]) == [(5, (5, 0)), (7, (6, 1))]


def test_without_a_function_the_element_itself_is_converted():
    assert list(pairs(Dataset.from_source(["a", "bc"]), None, len)[1]) == [(1, "a"), (2, "bc")]


def test_pairs_over_an_indexed_dataset_are_indexed_and_in_columns():
    node, ds = pairs(Dataset.from_tensor_slices({"x": np.arange(4), "y": np.ones((4, 2))}), lambda e: e["x"])
    assert node.indexed
    assert len(ds) == 4
    assert ds[2][0] == 2
    assert node.spec()[0] == ObjectSpec(object)
    assert node.label() == "key(lambda)"


@pytest.mark.parametrize("chunk", [Columns(PAIR, [[7, 8], np.arange(2)], 2), Items([(7, 0), (8, 1)])])
def test_pairs_are_split_again(chunk):
    said, elements = parted(chunk)
    assert said == [7, 8]
    assert elements.elements() == [0, 1]


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint8(3), np.array(3)])
def test_whole_numbers_are_accepted_in_any_form(value):
    assert whole_number(value) == 3
    assert type(whole_number(value)) is int


@pytest.mark.parametrize("value", [3.0, "3", None, np.array([3]), True, np.bool_(True), np.float32(3)])
def test_a_result_that_is_no_whole_number_is_refused(value):
    with pytest.raises(ElementError, match="one whole number"):
        whole_number(value)


@pytest.mark.parametrize("value", [True, np.bool_(True), np.array(True)])
def test_bools_are_accepted_in_any_form(value):
    assert truth(value) is True
    assert truth(np.logical_not(value)) is False


@pytest.mark.parametrize("value", [1, 0, None, np.array([True]), "yes"])
def test_a_result_that_is_no_bool_is_refused(value):
    with pytest.raises(ElementError, match="True or False"):
        truth(value)


def fails(*args):
    raise LookupError("no")


@pytest.mark.parametrize(
    ("ds", "blamed"),
    [
        (Dataset.range(9).unique(fails), "unique(key_func=fails)"),
        (Dataset.range(9).take_while(fails), "take_while(predicate=fails)"),
        (
            Dataset.range(9).group_by_window(fails, lambda key, ds: ds.batch(2), window_size=2),
            "group_by_window(key_func=fails)",
        ),
        (Dataset.range(9).group_by_reducer(fails, abs, max), "group_by_reducer(key_func=fails)"),
        (
            Dataset.range(9).bucket_by_sequence_length(fails, [2], [2, 2]),
            "bucket_by_sequence_length(element_length_func=fails)",
        ),
        (
            Dataset.range(9).batch_by_tokens(element_length_func=fails, max_tokens=9),
            "batch_by_tokens(element_length_func=fails)",
        ),
    ],
)
def test_the_operation_that_the_user_wrote_is_blamed(ds, blamed):
    with pytest.raises(LookupError) as caught:
        list(ds)
    notes = [note.partition(";")[0] for note in caught.value.__notes__]
    assert notes[:2] == [f"in {blamed}, at row 0", "made from the number 0"]
    assert notes[2:] in (["while making element 0"], ["while making batch 0"])
    assert ds.check().operations[-1].error is not None


def test_an_error_names_the_operation_and_the_record():
    def picky(x):
        return 1 // (x - 3)

    for read, function in ((whole_number, picky), (whole_number, lambda x: "text" if x == 3 else 0)):
        with pytest.raises((ZeroDivisionError, ElementError)) as caught:
            list(pairs(Dataset.range(9).filter(lambda x: True), function, read)[1])
        notes = "\n".join(caught.value.__notes__)
        assert "in key(" in notes
        assert "made from the number 3" in notes
