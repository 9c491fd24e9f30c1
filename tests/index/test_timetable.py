"""Planned mixtures: what happens when inputs run out and when weights change."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import PlanError
from penstock.index.timetable import MOST_PAGES, PAGE, Schedule
from penstock.index.weights import Asked, Steady, Stepped

KEYS = st.none() | st.integers(0, (1 << 64) - 1)
WEIGHT = st.one_of(st.floats(0.001, 10), st.integers(0, 4).map(float))


@st.composite
def plans(draw):
    """Weights of any kind and lengths of inputs, some of them endless."""
    count = draw(st.integers(1, 6))
    weights = st.lists(WEIGHT, min_size=count, max_size=count).filter(any).map(tuple)
    lengths = draw(st.lists(st.none() | st.integers(0, 400), min_size=count, max_size=count))
    changes = draw(st.lists(st.integers(1, 300), max_size=3, unique=True))
    steps = tuple((slot, draw(weights)) for slot in [0, *sorted(changes)])
    return (Steady(steps[0][1]) if len(steps) == 1 else Stepped(steps)), lengths


@given(plan=plans(), key=KEYS)
def test_all_draws_every_row_of_every_input_that_has_a_weight(plan, key):
    weights, lengths = plan
    schedule = Schedule(weights, lengths)
    end = schedule.length
    which, rank = schedule.split(np.arange(1500 if end is None else end), key)
    for input, length in enumerate(lengths):
        mine = rank[which == input].tolist()
        assert mine == list(range(len(mine)))
        if end is not None and length is not None and weights.at(10**9)[0][input] > 0:
            assert len(mine) == length
        assert length is None or len(mine) <= length


@given(plan=plans(), key=KEYS)
def test_stop_first_ends_at_the_first_missing_row(plan, key):
    weights, lengths = plan
    schedule = Schedule(weights, lengths, first=True)
    end = schedule.length
    slots = np.arange(1500 if end is None else end)
    which, rank = schedule.split(slots, key)
    for input, length in enumerate(lengths):
        mine = rank[which == input].tolist()
        assert mine == list(range(len(mine)))
        assert length is None or len(mine) <= length
    if end is not None:  # without the end, the next slot draws from the input that is empty
        longer = Schedule(weights, [None] * len(lengths), first=True)
        input, missing = (int(each[0]) for each in longer.split(np.array([end])))
        assert lengths[input] == missing
        assert [each.tolist() for each in longer.split(slots)] == [each.tolist() for each in schedule.split(slots)]


@given(lengths=st.lists(st.integers(0, 300), min_size=1, max_size=8).filter(any), key=KEYS)
def test_weights_that_are_the_lengths_draw_all_inputs_to_their_ends_together(lengths, key):
    schedule = Schedule(Steady(tuple(map(float, lengths))), lengths)
    assert schedule.length == sum(lengths)
    which, _ = schedule.split(np.arange(sum(lengths)))
    for input, length in enumerate(lengths):
        surplus = np.cumsum(which == input) - length / sum(lengths) * np.arange(1, sum(lengths) + 1)
        assert np.abs(surplus).max() <= 2.5


def test_other_inputs_continue_in_their_proportions():
    schedule = Schedule(Steady((2.0, 1.0, 1.0)), (10, 1000, 1000))
    which, _ = schedule.split(np.arange(schedule.length))
    assert (which[:20] == 0).sum() == 10
    assert abs((which[20:1020] == 1).sum() - 500) <= 1


@given(plan=plans(), key=KEYS, slot=st.integers(0, 1000))
def test_draw_counts_equal_the_rows_before(plan, key, slot):
    schedule = Schedule(*plan)
    end = schedule.length
    slot = slot if end is None else min(slot, end)
    which, _ = schedule.split(np.arange(slot), key)
    assert schedule.drawn_before(slot, key).tolist() == np.bincount(which, minlength=len(plan[1])).tolist()


def test_rounding_carries_over_changes_of_weights():
    """A weight that is worth less than one row between two changes is drawn all the same."""
    schedule = Schedule(Asked(lambda slot: [10_000, 1 + slot / 1e9], 2), (None, None))
    which, _ = schedule.split(np.arange(200_000))
    assert abs((which == 1).sum() - 20) <= 1


def test_a_function_of_the_row_shifts_the_mixture():
    schedule = Schedule(Asked(lambda slot: [1, slot / 102_400], 2), (None, None))
    which, rank = schedule.split(np.arange(204_800))
    for low in range(0, 204_800, 1024):
        weight = low / 102_400
        assert abs((which[low : low + 1024] == 1).mean() - weight / (1 + weight)) < 0.003
    assert rank[which == 1].tolist() == list(range((which == 1).sum()))


def test_released_pages_are_planned_again_equal():
    schedule = Schedule(Asked(lambda slot: [1, 1 + slot % 7], 2), (None, None))
    far = 1024 * PAGE * (MOST_PAGES + 3)
    slots = np.array([5, 1024 * PAGE + 1, far])
    first = schedule.split(slots, key=3)
    schedule.split(np.arange(0, far, 1024 * PAGE))
    assert len(schedule._pages) == MOST_PAGES
    again = Schedule(*schedule._arguments[:2]).split(slots[::-1], key=3)
    assert [each[::-1].tolist() for each in again] == [each.tolist() for each in first]
    assert [each.tolist() for each in schedule.split(slots, key=3)] == [each.tolist() for each in first]


def test_a_key_for_each_slot_goes_with_it_to_its_page():
    schedule = Schedule(Asked(lambda slot: [1, 1 + slot % 7], 2), (None, None))
    slots = np.array([1024 * PAGE + 3, 3, 1024 * PAGE + 4, 4])
    keys = np.array([1, 2, 1, 2], np.uint64)
    both = schedule.split(slots, keys)
    for key, here in ((1, slice(0, None, 2)), (2, slice(1, None, 2))):
        assert [each[here].tolist() for each in both] == [each.tolist() for each in schedule.split(slots[here], key)]


def test_weights_that_wait_for_an_empty_input_come_sooner():
    schedule = Schedule(Stepped(((0, (1.0, 0.0)), (100, (0.0, 1.0)))), (5, 5))
    assert schedule.split(np.arange(schedule.length))[0].tolist() == [0] * 5 + [1] * 5
    asked = Schedule(Asked(lambda slot: [slot < 5000, slot >= 5000], 2), (5, 5))
    assert asked.split(np.arange(asked.length))[0].tolist() == [0] * 5 + [1] * 5


def test_excluded_inputs_are_never_drawn_and_weights_begin_at_the_given_slot():
    schedule = Schedule(Stepped(((0, (1.0, 1.0, 0.0)), (10, (1.0, 1.0, 1.0)))), [None] * 3, without=[0], begin=8)
    assert schedule.split(np.arange(6))[0].tolist() in ([1, 1, 1, 2, 1, 2], [1, 1, 2, 1, 2, 1])


def test_endless_and_empty_mixtures_have_the_right_length():
    assert Schedule(Steady((1.0, 1.0)), (None, 3)).length is None
    assert Schedule(Steady((0.0, 1.0)), (None, 3)).length == 3
    assert Schedule(Steady((1.0, 0.0)), (None, 3), first=True).length is None
    assert Schedule(Steady((1.0, 1.0)), (0, 0)).length == 0
    assert Schedule(Steady((1.0, 1.0)), (5, 0), first=True).length == 1
    assert Schedule(Asked(lambda slot: [1, 0], 2), (None, 3)).length is None
    assert Schedule(Steady((1.0, 1.0)), (5, 0)).split(np.arange(0))[0].tolist() == []


def test_mixtures_that_come_to_no_end_are_refused(monkeypatch):
    monkeypatch.setattr("penstock.index.timetable.MOST_SEGMENTS", 10)
    monkeypatch.setattr("penstock.index.timetable.MOST_EMPTY", 10)
    with pytest.raises(PlanError, match="have weight 0"):
        _ = Schedule(Asked(lambda slot: [1, 0], 2), (3, 3)).length
    with pytest.raises(PlanError, match="no dataset of the mixture has run out"):
        _ = Schedule(Asked(lambda slot: [1, 0], 2), (None, 3), first=True).length


def test_the_longest_inputs_can_be_counted():
    schedule = Schedule(Steady((1.0, 1.0)), (1 << 60, 1 << 60))
    assert schedule.length == 1 << 61
    which, rank = schedule.split(np.array([(1 << 61) - 1, (1 << 61) - 2]), key=1)
    assert sorted(zip(which.tolist(), rank.tolist(), strict=True)) == [(0, (1 << 60) - 1), (1, (1 << 60) - 1)]


def test_a_schedule_can_be_pickled():
    schedule = Schedule(Steady((1.0, 2.0)), (3, None), first=True)
    again = pickle.loads(pickle.dumps(schedule))
    assert again.length == schedule.length
    assert [each.tolist() for each in again.split(np.arange(4))] == [
        each.tolist() for each in schedule.split(np.arange(4))
    ]
