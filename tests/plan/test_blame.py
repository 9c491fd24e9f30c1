"""Data on an exception about the operation, the element and the records, equal to the text of its notes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from penstock import Dataset, Options
from penstock.core.blame import blames_of, note_blames
from penstock.core.errors import ElementError
from penstock.plan.blame import blame, blame_given
from penstock.plan.ids import MOST_EPOCHS, ordinals, scatter

LETTERS = Dataset.from_source(list("abcdef"))


def noted(error):
    note_blames(error)
    return error.__notes__


def test_the_blame_names_operation_row_and_the_first_records():
    error = ValueError("bad")
    blame(error, LETTERS.batch(5)._plan, 1)
    blame(error, LETTERS.batch(5)._plan, 0)
    assert noted(error) == [
        "in batch(5), at row 1",
        "made from item 5 of list",
        "in batch(5), at row 0",
        "made from item 0 of list, item 1 of list, item 2 of list and 2 more",
    ]


def test_the_blame_of_elements_that_do_not_fit_is_on_their_records():
    error = ElementError("rows 6 and 3 differ")
    error.rows = (6, 3)
    blame(error, LETTERS.batch(5)._plan, 1)
    blame(error, LETTERS.batch(5)._plan, 0)  # these rows are of who raised it
    assert noted(error) == [
        "row 6 is made from item 0 of list",
        "row 3 is made from item 3 of list",
        "in batch(5), at row 1",
        "in batch(5), at row 0",
        "made from item 0 of list, item 1 of list, item 2 of list and 2 more",
    ]


def counted():
    yield from range(12)


def odd(x):
    return bool(x % 2)


def refuse(x):
    if int(x) == 7:
        raise LookupError("not 7")
    return x


def accept(x):
    refuse(x)
    return True


def step(state, x):
    refuse(x)
    return state + 1, x


def last(state, x):
    return refuse(x)


def begun(x):
    yield x
    refuse(x)


def notes_of(ds):
    with pytest.raises((LookupError, ElementError)) as caught:
        list(ds)
    return [note for note in caught.value.__notes__ if not note.startswith("while making")]


IN_STREAMS = {
    "filter(accept)": lambda ds: ds.filter(accept),
    "map(refuse)": lambda ds: ds.filter(lambda x: True).map(refuse),
    "scan(..., step)": lambda ds: ds.scan(0, step),
    "take_while(predicate=accept)": lambda ds: ds.take_while(accept),
    "unique(key_func=refuse)": lambda ds: ds.unique(refuse),
    "flat_map(begun)": lambda ds: ds.flat_map(begun),
    "group_by_window(key_func=refuse)": lambda ds: ds.group_by_window(refuse, lambda key, window: window, 2),
    "group_by_reducer(abs, abs, last)": lambda ds: ds.group_by_reducer(abs, abs, last),
    "rejection_resample(refuse)": lambda ds: ds.rejection_resample(refuse, [1 / 12] * 12, seed=0),
}
BELOW = {
    "rows": (Dataset.range(3, 11).shuffle(seed=26).filter(odd), "at row 2 of the input of filter(odd", True),
    "a generator": (Dataset.from_generator(counted), "at element 7 of from_generator(counted)", False),
    "some of a generator's": (
        Dataset.from_generator(counted).filter(odd).shuffle(buffer_size=4, seed=3),
        "at element 7 of from_generator(counted)",
        False,
    ),
}


@pytest.mark.parametrize("below", BELOW)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("blamed", IN_STREAMS)
def test_in_a_stream_the_note_names_the_origin_of_the_element(blamed, below, workers):
    ds, where, has_record = BELOW[below]
    if below == "rows":
        assert list(Dataset.range(3, 11).shuffle(seed=26))[2] == 7
    way = Options(executor="threads", workers=workers) if workers else Options(executor="inline")
    told, *records_named = notes_of(IN_STREAMS[blamed](ds).with_options(way))
    assert told.startswith(f"in {blamed}, {where}")
    assert records_named == ["made from the number 7"] * has_record


@pytest.mark.parametrize("blamed", IN_STREAMS)
def test_a_row_of_the_input_itself_is_named_without_the_input(blamed):
    told, record = notes_of(IN_STREAMS[blamed](Dataset.range(1, 11)))
    assert told in (f"in {blamed}, at row 6", f"in {blamed}, at row 6 of the input of filter(lambda, traced)")
    assert record == "made from the number 7"


def test_errors_in_an_inner_dataset_name_its_element():
    told = notes_of(Dataset.range(5, 9).flat_map(lambda x: Dataset.range(int(x), int(x) + 1).map(refuse)))
    assert told == ["in map(refuse), at row 0", "made from the number 7", "in flat_map(lambda), at row 2"]


def test_elements_that_do_not_fit_together_are_named_by_their_records():
    ds = Dataset.range(10).filter(odd).map(lambda x: np.zeros(1 + int(x == 7))).batch(2)
    assert notes_of(ds) == [
        "row 2 is made from the number 5",
        "row 3 is made from the number 7",
        "in batch(2), at element 1",
    ]


def test_batches_of_a_stream_are_counted():
    ds = Dataset.range(20).filter(odd).batch(2).map(lambda batch: list(map(refuse, batch.tolist())))
    assert notes_of(ds) == ["in map(lambda), at element 1 of batch(2)"]


def test_errors_in_a_function_of_a_key_name_the_key():
    by_size = Dataset.range(1, 9).group_by_window(lambda x: x, lambda key, window: window, window_size_func=refuse)
    assert notes_of(by_size)[-1] == "for the key 7"
    at_the_end = Dataset.range(9).group_by_reducer(lambda x: x, lambda key: key, max, refuse)
    assert notes_of(at_the_end)[-1] == "for the key 7"


def test_elements_of_later_and_of_uncountable_epochs_are_named():
    generated = Dataset.from_generator(counted).filter(odd)._plan
    known, unknown = LookupError(), LookupError()
    blame(known, generated, int(ordinals(3, 7, 1)[0]))
    blame(unknown, generated, int(ordinals(MOST_EPOCHS, 7, 1)[0]))
    assert noted(known) == ["in filter(odd), at element 7 of epoch 3 of from_generator(counted)"]
    assert noted(unknown) == ["in filter(odd)"]


def test_virtual_streams_name_rows_instead_of_numbers():
    whole = Dataset.range(20)
    rows = whole.filter(lambda x: True).map(refuse).shard(2, 1, streams=4)
    told, record = notes_of(rows)
    assert told.startswith("in map(refuse), at row 7 of the input of filter(")
    assert record == "made from the number 7"
    batches = whole.filter(lambda x: True).batch(2).map(lambda batch: [refuse(x) for x in batch.tolist()])
    assert notes_of(batches.shard(2, 1, streams=4)) == ["in map(lambda)"]


def test_errors_that_name_a_place_are_unchanged():
    error = LookupError()
    blame(error, LETTERS.batch(5)._plan, 0)
    kept = blames_of(error)
    blame_given(error, LETTERS.batch(5).filter(odd)._plan, 1)
    assert blames_of(error) == kept


def test_unknown_ids_give_no_place():
    many = LETTERS.flat_map(lambda x: [x, x]).filter(odd)._plan
    error = LookupError()
    blame(error, many, int(scatter(np.array([3]))[0]))
    assert noted(error) == ["in filter(odd)"]


def leave(x):
    if int(x) == 3:
        sys.exit(7)
    return x


def leaving(state, x):
    leave(x)
    return state, x


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    ("ds", "blamed"),
    [
        (Dataset.range(1, 9).map(leave), "map(leave)"),
        (Dataset.range(1, 9).map(leave, vectorized=False).batch(2), "map(leave, vectorized=False)"),
        (Dataset.range(1, 9).filter(lambda x: leave(x) < 9), "filter(lambda)"),
        (Dataset.range(1, 9).unique(leave), "unique(key_func=leave)"),
        (Dataset.range(1, 9).scan(0, leaving), "scan(..., leaving)"),
    ],
)
def test_a_function_that_exits_is_named_and_its_code_stays(ds, blamed, workers):
    way = Options(executor="threads", workers=workers) if workers else Options(executor="inline")
    with pytest.raises(SystemExit) as caught:
        list(ds.with_options(way))
    assert caught.value.code == 7
    assert caught.value.__notes__[:2] == [f"in {blamed}, at row 2", "made from the number 3"]


@pytest.mark.parametrize(
    ("element", "function"),
    [((1, 2), lambda x: x), ({"a": 1, "b": 2}, lambda a, b: a), (1, lambda a, b: a)],
    ids=["tuple", "dict", "number"],
)
@pytest.mark.parametrize("method", ["map", "filter"])
def test_errors_about_the_number_of_arguments_explain_how_elements_are_passed(element, function, method):
    with pytest.raises(TypeError, match="positional argument") as caught:
        list(getattr(Dataset.from_source([element]), method)(function))
    assert [note for note in caught.value.__notes__ if note.startswith("a tuple comes as arguments, a dict as one")]


def test_type_errors_inside_the_function_are_unchanged():
    def wrong(x):
        return sorted()

    with pytest.raises(TypeError) as caught:
        list(Dataset.range(1).map(wrong))
    assert not any("a tuple comes" in note for note in caught.value.__notes__)
