from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.blame import Blame, ElementPlace, add_blame
from penstock.core.errors import DecodeError
from penstock.ops.elementwise.filter import Filter
from penstock.ops.read.given import Given
from penstock.plan.failure import LONGEST_TEXT, MOST_RECORDS, UNTOLD, Failure, base_of, failure_of


def raised(error):
    try:
        raise error
    except type(error) as caught:
        return caught


def test_a_description_has_the_row_the_records_and_the_traceback():
    ds = Dataset.from_source(["a", "b", "c"]).skip(1).map(str.upper)
    failure = failure_of(raised(ValueError("no good")), 7, 2 + 1, ds._plan, ds._plan)
    assert (failure.at, failure.row, failure.operation) == (7, 1, "map(str.upper)")
    assert (failure.error, failure.message, failure.records) == ("ValueError", "no good", ("item 2 of list",))
    assert "raise error" in failure.traceback
    assert str(failure) == "row 1 (item 2 of list): ValueError: no good"
    assert json.loads(json.dumps(failure.line(4)))["epoch"] == 4
    assert "at" not in failure.line(4)
    assert pickle.loads(pickle.dumps(failure)) == failure


def test_the_operation_is_the_one_that_the_error_blames():
    error = raised(KeyError("x"))
    error.add_note("in the user's own words, at row 3")
    add_blame(error, Blame("map(f)", ElementPlace("row", 3)))
    add_blame(error, Blame("flat_map(g)"))
    plan = Dataset.range(3).map(abs).filter(bool)._plan
    assert failure_of(error, 0, 3, plan, None).operation == "map(f)"


def test_errors_of_other_modules_have_their_full_name():
    plan = Dataset.range(3)._plan
    assert failure_of(raised(DecodeError("bad")), 0, 1, plan, plan).error == "penstock.core.errors.DecodeError"


def test_without_rows_the_number_of_the_element_is_used():
    failure = failure_of(raised(ValueError()), 0, 1 << 60, Given(), None)
    assert (failure.row, failure.records) == (1 << 60, ())
    assert str(failure).startswith(f"row {1 << 60}: ValueError")


def test_long_texts_and_many_records_are_cut():
    plan = Dataset.range(100).batch(100)._plan
    failure = failure_of(raised(ValueError("x" * 100_000)), 0, 0, plan, plan)
    assert len(failure.message) == len(failure.traceback) == LONGEST_TEXT
    assert len(failure.records) == MOST_RECORDS


def test_the_input_of_a_stretch_is_found():
    rows = Dataset.range(9).batch(2)
    assert base_of(rows._plan) is rows._plan
    assert base_of(rows.filter(bool).map(np.sum)._plan) is rows._plan
    assert base_of(Filter(Given(), bool)) is None
    assert base_of(rows.filter(bool).take(3).map(np.sum)._plan) is rows._plan
    assert base_of(rows.filter(bool).batch(3).map(np.sum)._plan) is None


@pytest.mark.parametrize("error", [ValueError("x"), DecodeError("x")])
def test_a_traceback_begins_with_the_users_frame(error):
    def failing(x):
        raise error

    with pytest.raises(type(error)) as caught:
        next(iter(Dataset.range(3).map(failing)))
    told = failure_of(caught.value, 0, 0, Given(), None).traceback
    assert told.index("test_failure.py") < told.index(type(error).__name__)
    assert "apply.py" not in told


def test_a_failure_in_a_batch_names_its_place_there():
    failure = Failure(0, 7, "map(f)", "ValueError", "bad", ("a.bin", "b.bin"), "", part=(2, 0))
    assert str(failure) == "element 0 of element 2 of row 7 (a.bin, b.bin): ValueError: bad"


def test_the_line_of_a_failure_is_json_and_has_a_part_only_where_there_is_one():
    whole = UNTOLD._replace(row=3)
    assert json.loads(json.dumps(whole.line(1)))["row"] == 3
    assert "part" not in whole.line(1)
    assert whole._replace(part=(4,)).line(1)["part"] == [4]
