"""Rows and epochs as callers pass them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import PlanError
from penstock.dataset.places import check_indexed, check_place, epoch_and_row, first_stream, row_of

PLAN = Dataset.range(5)._plan


def test_a_row_may_have_an_epoch():
    assert epoch_and_row(3) == (0, 3)
    assert epoch_and_row((2, 3)) == (2, 3)
    with pytest.raises(TypeError, match="an epoch and a row"):
        epoch_and_row((1, 2, 3))


def test_rows_count_from_either_end_over_all_epochs():
    assert [row_of(PLAN, epoch, row) for epoch, row in ((0, 4), (0, -1), (2, np.int64(1)))] == [4, 4, 11]
    for epoch, row in ((0, 5), (0, -6), (-1, 0)):
        with pytest.raises(IndexError):
            row_of(PLAN, epoch, row)
    with pytest.raises(IndexError, match="endless"):
        row_of(Dataset.counter()._plan, 0, -1)
    with pytest.raises(TypeError, match="expected a whole number, not float"):
        row_of(PLAN, 0, 1.5)


def test_arguments_that_are_no_places_are_refused():
    check_place("locate", "row", (0, 1))
    with pytest.raises(TypeError, match=r"locate\(row='a'\)"):
        check_place("locate", "row", "a")


def test_a_stream_is_named():
    plan = Dataset.range(5).map(abs).filter(bool).batch(2)._plan
    assert first_stream(plan).label() == "filter(bool)"
    with pytest.raises(PlanError, match=r"filter\(bool\) is a stream: so there"):
        check_indexed(plan, "so there")
    check_indexed(PLAN, "never")
