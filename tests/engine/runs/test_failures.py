"""Notes on errors: the item, its records, the code that reproduces it, and the line of the user's code."""

from __future__ import annotations

import traceback

import numpy as np
import pytest

import penstock as ps
from penstock.core.blame import blames_of, note_blames
from penstock.core.errors import ElementError
from penstock.engine.runs.failures import named_failure, over

D = ps.Dataset


def at_37(x):
    if x == 37:
        raise LookupError("not 37")
    return True


def at_137(x):
    if x == 137:
        raise LookupError("not 137")
    return True


def failure_of(dataset):
    with pytest.raises(Exception) as caught:  # noqa: PT011
        list(dataset)
    return caught


def notes_of(dataset):
    error = failure_of(dataset).value
    return "\n".join([str(error), *getattr(error, "__notes__", [])])


# Named


def test_a_named_failure_has_the_item_and_how_to_make_it_again():
    named = named_failure(ValueError("bad"), "while making batch 3", 2, "ds[2, 3]")
    note_blames(named)
    assert named.__notes__ == ["while making batch 3 of epoch 2; make it again with ds[2, 3]"]
    (blame,) = blames_of(named_failure(ValueError("bad"), "while making batch 3", 0, None))
    assert blame.detail == "while making batch 3"


@pytest.mark.parametrize("ending", [StopIteration, StopAsyncIteration])
def test_a_stop_iteration_becomes_a_runtime_error(ending):
    failure = ending()
    named = named_failure(failure, "while making batch 3", 0, None)
    assert isinstance(named, RuntimeError)
    assert str(named) == f"a function of the pipeline raised {ending.__name__}"
    assert named.__cause__ is failure
    assert blames_of(named) == blames_of(failure)


@pytest.mark.parametrize(
    ("ended", "how"), [("failed", "has failed"), ("closed", "was closed"), ("cancelled", "was cancelled")]
)
def test_an_iterator_that_is_over_reports_how_it_ended(ended, how):
    assert str(over(ended)) == f"this iterator {how}; create a new one, or load a saved state into it"


# The traceback


@pytest.mark.parametrize("ds", [D.range(60).map(at_37), D.range(60).filter(at_37)], ids=["rows", "stream"])
def test_the_traceback_ends_in_the_users_code(ds, way):
    error = failure_of(ds.with_options(way)).value
    frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    assert frames[-1] == "at_37"
    assert "_made" not in frames


# The notes


def test_an_error_of_rows_names_operation_row_record_and_how_to_make_it_again(way):
    ds = D.range(100, 200).skip(3).map(at_137).batch(4).with_options(way)
    said = notes_of(ds)
    assert "in map(at_137), at row 34" in said
    assert "the number 137" in said
    assert "while making batch 8; make it again with ds[8]" in said
    with pytest.raises(LookupError, match="not 137"):
        ds[8]


def test_an_error_of_a_stream_names_operation_record_and_element(way):
    said = notes_of(D.range(100, 200).skip(3).filter(at_137).batch(4).with_options(way))
    assert "not 137" in said
    assert "in filter(at_137)" in said
    assert "made from the number 137" in said
    assert "while making batch 8" in said


def test_an_error_of_a_later_epoch_names_the_epoch_and_position(way):
    ds = D.range(9).shuffle(seed=1).map(lambda x: 1 // int(x)).with_options(way)
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds.iterator(epoch=3))
    notes = "\n".join(caught.value.__notes__)
    assert " of epoch 3" in notes
    position = notes.rpartition("ds[3, ")[2].rstrip("]")
    with pytest.raises(ZeroDivisionError):
        ds[3, int(position)]


def test_an_error_of_a_stream_in_a_later_epoch_names_the_epoch(way):
    ds = D.range(9).shuffle(seed=1).filter(lambda x: 1 // int(x) > -1).with_options(way)
    with pytest.raises(ZeroDivisionError) as caught:
        list(ds.iterator(epoch=3))
    notes = "\n".join(caught.value.__notes__)
    assert " of epoch 3" in notes
    assert "made from the number 0" in notes


def test_a_failed_element_of_a_stream_is_made_again_from_the_state_of_the_failed_iterator(way):
    def refuse(x, *, rng):
        drawn = int(rng.integers(1 << 40))
        if x == 37:
            raise LookupError(drawn)
        return x

    ds = D.range(100).shuffle().filter(lambda x: x % 2 == 1).map(refuse).batch(4).with_options(way)
    said = []
    failed = ds.iterator(epoch=3)
    for it in (failed, ds.iterator()):
        if said:
            it.load_state_dict(failed.state_dict())
            with pytest.raises(LookupError) as caught:
                next(it)
        else:
            with pytest.raises(LookupError) as caught:
                list(it)
        said.append([str(caught.value), *caught.value.__notes__])
    assert said[0] == said[1]
    assert said[0][-1].endswith(
        "of epoch 3; make it again with a new iterator: "
        "load_state_dict() of the failed iterator's state_dict(), then next()"
    )


# Elements that do not fit


def test_rows_that_do_not_fit_in_a_batch_are_both_named(way):
    ds = D.range(20).map(lambda x: np.zeros(3 if x == 10 else 2)).batch(4).with_options(way)
    said = notes_of(ds)
    assert "rows 8 and 10 differ: shape (2,) against (3,)" in said
    assert "batch 2" in said


def test_elements_of_a_stream_that_do_not_fit_in_a_batch_are_named_by_their_place_in_it(way):
    ds = D.range(20).filter(lambda x: x % 2 == 0).expand(2).map(lambda x: np.zeros(3 if x == 10 else 2)).batch(4)
    said = notes_of(ds.with_options(way))
    assert "rows 8 and 10 differ: shape (2,) against (3,)" in said
    assert "in batch(4)" in said
    assert "while making batch 2" in said


def test_elements_that_do_not_fit_in_a_batch_are_named_by_their_records(way):
    sizes = [3] * 10_000
    sizes[7_777] = 4
    ds = D.from_source(sizes).map(np.zeros).shuffle(seed=1)
    row = next(row for row in range(10_000) if ds.locate(row)[0].position == 7_777)
    for pipeline in (ds.batch(50), ds.batch(50).map(lambda batch: batch)):
        with pytest.raises(ElementError, match=rf"elements of rows .*\b{row}\b") as caught:
            list(pipeline.with_options(way))
        assert any(note.endswith("is made from item 7777 of list") for note in caught.value.__notes__)
        assert sum("is made from item" in note for note in caught.value.__notes__) == 2


def test_a_predicate_must_return_true_or_false(way):
    with pytest.raises(ElementError, match="the predicate returned 'maybe'"):
        list(D.range(9).filter(lambda x: "maybe" if x == 5 else True).with_options(way))
