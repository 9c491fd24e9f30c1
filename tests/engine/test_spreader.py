"""What comes of a unit of stream work, here and elsewhere."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from penstock.engine.executors.remote import shipped
from penstock.engine.observer import Unobserved
from penstock.engine.spreader import Spreader, Unit
from penstock.engine.stage import NOTHING

from penstock import Dataset
from penstock.core.errors import ElementError
from penstock.elements.chunks.chunk import Items
from penstock.ops.elementwise.filter import Filter
from penstock.ops.elementwise.map import Map
from penstock.ops.read.given import Given
from penstock.plan.flow import Piece


def spreader(plan):
    return Spreader(plan, np.empty, Unobserved())


def rows(*numbers):
    return Unit(Piece(NOTHING, np.array(numbers, np.int64)), 0)


def given(*values):
    return Unit(Piece(Items(list(values)), 100 + np.arange(len(values))), 0)


def big(x):
    return x > 12


ON_ROWS = Dataset.range(10, 20).map(lambda x: x + 1).filter(big)._plan
ON_GIVEN = Filter(Map(Given(), lambda x: x * 10), big)


def test_rows_are_made_into_elements_and_keep_their_rows():
    made = spreader(ON_ROWS).make(rows(0, 1, 2, 9), 0)
    assert made.piece.chunk.elements() == [13, 20]
    assert made.piece.ids.tolist() == [2, 9]
    assert made.cost.wall > 0


def test_elements_that_are_given_keep_their_ids():
    made = spreader(ON_GIVEN).make(given(1, 2, 3), 0)
    assert made.piece.chunk.elements() == [20, 30]
    assert made.piece.ids.tolist() == [101, 102]


@pytest.mark.parametrize(("plan", "unit"), [(ON_ROWS, rows()), (ON_ROWS, rows(0, 1)), (ON_GIVEN, given())])
def test_nothing_may_come_of_a_unit(plan, unit):
    made = spreader(plan).make(unit, 0)
    assert len(made.piece) == len(made.piece.chunk) == len(made.piece.ids) == 0


@pytest.mark.parametrize(("plan", "unit"), [(ON_ROWS, rows(0, 5, 9)), (ON_GIVEN, given(1, 2, 3))])
def test_elsewhere_the_same_comes_of_it(plan, unit):
    one = spreader(plan)
    here = one.make(unit, 0).piece
    function, *arguments = pickle.loads(pickle.dumps(one.errand(shipped(one.source, Unobserved()), unit, 0)))
    there, counted = function(*arguments)
    assert there.piece.chunk.elements() == here.chunk.elements()
    assert there.piece.ids.tolist() == here.ids.tolist()
    assert counted is None


def test_a_unit_counts_what_it_is_made_of():
    assert (rows(1, 2, 3).items, given(1).items, rows().items) == (3, 1, 0)
    assert Unit(Piece(NOTHING, np.arange(3)), 24).nbytes == 24


def test_an_error_is_the_functions_own():
    with pytest.raises(ElementError, match="returned None"):
        spreader(Map(Given(), lambda x: None)).make(given(1), 0)
