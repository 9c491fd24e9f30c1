"""Positions of a plan as JSON data, and back."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.errors import CursorError
from penstock.dataset.states import States
from penstock.engine.cursors.cursor import Cursor

D = ps.Dataset


def states(ds):
    return States(ds._plan, ds.options())


@pytest.mark.parametrize(
    ("ds", "cursor"),
    [
        (D.range(9), Cursor(5, 1, 3)),
        (D.range(9).filter(bool), Cursor(5, 1, 3, mark=[4, 1], offset=2, form="f")),
        (D.range(9).filter(bool), Cursor(5, 1, 3, ended=True)),
        (D.range(9).shuffle(reshuffle_each_iteration=False), Cursor(5, 1, 3, drawn=((0, 7),))),
        (D.range(9).with_options(ps.Options(deterministic=False)), Cursor(5, 1, 3, ((4, 6),))),
    ],
)
def test_a_written_state_is_read_back(ds, cursor):
    assert states(ds).cursor_of(states(ds).state_of(cursor)) == cursor


def test_an_epoch_is_over_once_all_its_elements_were_received():
    of_nine = states(D.range(9))
    assert [of_nine.is_over(Cursor(0, 0, row)) for row in (0, 8, 9)] == [False, False, True]
    unknown = states(D.range(9).filter(bool))
    assert not unknown.is_over(Cursor(0, 0, 9))
    assert unknown.is_over(Cursor(0, 0, 8, ended=True))
    assert not states(D.counter()).is_over(Cursor(0, 0, 10**9))


@pytest.mark.parametrize("drawn", [5, [5], [[1]], [["a", 1]], [[-1, 3]], [[0, -1]], [[0, 1 << 64]]])
def test_invalid_draws_are_refused(drawn):
    of_nine = states(D.range(9).shuffle())
    with pytest.raises(CursorError, match="'drawn' is"):
        of_nine.cursor_of({**of_nine.state_of(Cursor(0, 0, 0)), "drawn": drawn})
