"""The notes about one operation on the way to an element."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.dryrun.recorded import Draws
from penstock.dryrun.row_stages import RowStage, stage_of
from penstock.elements.chunks.chunk import Items


def stage(**fields):
    return RowStage(ps.Dataset.range(3)._plan, "range(3)", **fields)


def test_elements_that_wait_are_told_by_id_and_forgotten_when_they_have_left():
    below = stage(waiting={})
    buffer = stage(feeders=[below])
    below.draws = [Draws(7, 1)]
    below.note(np.array([0, 1]), Items(["a", "b"]))
    below.note(np.array([2]), Items(["c"]))
    buffer.note(np.array([1]), Items(["B"]))
    below.tell([1])
    assert (below.ids, below.elements, [each.row for each in below.draws]) == ([1], ["b"], [1])
    buffer.is_old = True
    buffer.note(np.array([0]), Items(["A"]))
    assert sorted(below.waiting) == [0, 2]


def test_an_element_is_a_copy_and_the_first_of_many_are_kept():
    noted, made = stage(), [[at] for at in range(100)]
    noted.note(np.arange(100), Items(made))
    made[0].append(1)
    assert (noted.made, len(noted.elements), noted.elements[0]) == (100, 64, [0])


def test_an_operation_that_was_not_prepared_has_no_stage():
    assert stage_of(ps.Dataset.range(3)._plan) is None
