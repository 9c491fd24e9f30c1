"""Marks of many parts, created on demand."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from penstock.plan.deferred import PartMarks, settled

CHANGES = st.lists(st.tuples(st.integers(0, 30), st.none() | st.integers(0, 9)), max_size=120)


@given(CHANGES)
def test_each_mark_has_the_state_of_its_creation(changes):
    parts, now = PartMarks(), {}
    marks, wanted = [], []
    for number, mark in changes:
        parts.change(number, mark)
        now[number] = mark
        marks.append(parts.now)
        last = max((each for each, value in now.items() if value is not None), default=-1)
        wanted.append([now.get(each) for each in range(last + 1)])
    assert settled(marks) == wanted
    assert pickle.loads(pickle.dumps(settled(marks))) == wanted


def test_nested_marks_are_settled():
    inner, outer = PartMarks(), PartMarks()
    inner.change(0, 5)
    outer.change(1, [inner.now, 3])
    assert settled([outer.now, 0]) == [[None, [[5], 3]], 0]
