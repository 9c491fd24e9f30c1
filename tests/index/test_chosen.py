"""Choices that are all known: counted as they would be made one after another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.index.chosen import Chosen


def one_by_one(choices, lengths, *, endless, first, most=400):
    """The (input, row) pairs that the choices make, one after another; the first `most` of them."""
    made, given = [], [0] * len(lengths)
    for _ in range(most if endless else 1):
        for choice in choices:
            if lengths[choice] is not None and given[choice] >= lengths[choice]:
                if first:
                    return made
                continue
            made.append((choice, given[choice]))
            given[choice] += 1
            if len(made) == most:
                return made
    return made


@given(
    lengths=st.lists(st.none() | st.integers(0, 30), min_size=1, max_size=5),
    data=st.data(),
    endless=st.booleans(),
    first=st.booleans(),
)
def test_choices_equal_those_made_one_by_one(lengths, data, endless, first):
    choices = data.draw(st.lists(st.integers(0, len(lengths) - 1), min_size=1, max_size=40))
    chosen = Chosen(np.array(choices), lengths, endless=endless, first=first)
    made = one_by_one(choices, lengths, endless=endless, first=first)
    assert chosen.length == (None if len(made) == 400 else len(made))
    slots = np.arange(len(made))
    assert list(zip(*map(np.ndarray.tolist, chosen.split(slots)), strict=True)) == made
    for slot in {0, len(made) // 2, len(made)}:
        counts = [sum(which == each for which, _ in made[:slot]) for each in range(len(lengths))]
        assert chosen.drawn_before(slot).tolist() == counts
    backwards = [each.tolist() for each in chosen.split(slots[::-1])]
    assert list(zip(*backwards, strict=True)) == made[::-1]


def test_endless_choices_can_be_looked_up_far_away():
    chosen = Chosen(np.array([0, 1, 1]), (None, None), endless=True)
    which, rank = chosen.split(np.array([3 * 10**12 + 2]))
    assert (which.tolist(), rank.tolist()) == ([1], [2 * 10**12 + 1])


@pytest.mark.parametrize("endless", [False, True])
def test_choices_from_empty_inputs_end_at_once(endless):
    chosen = Chosen(np.array([0, 0]), (0, 3), endless=endless)
    assert chosen.length == 0
    assert chosen.split(np.arange(0))[0].tolist() == []
