from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.memory.extents import Extents

SIZE = 64


def test_an_empty_extent_is_nothing():
    free = Extents()
    free.add(3, 3)
    assert free.size == 0
    assert free.take(1) is None


def test_only_an_extent_that_reaches_the_end_is_taken_there():
    free = Extents()
    assert free.take_end(9) == 9
    free.add(0, 2)
    free.add(5, 9)
    assert free.take_end(9) == 5
    assert free.take_end(5) == 5
    assert free.size == 2


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 20)), max_size=60))
def test_places_never_overlap_and_all_come_back(steps):
    free, taken = Extents(), []
    free.add(0, SIZE)
    for takes, size in steps:
        if takes or not taken:
            begin = free.take(size)
            if begin is not None:
                assert 0 <= begin <= SIZE - size
                assert all(begin + size <= low or begin >= high for low, high in taken)
                taken.append((begin, begin + size))
        else:
            free.add(*taken.pop(size % len(taken)))
        assert free.size == SIZE - sum(high - low for low, high in taken)
    for each in taken:
        free.add(*each)
    assert free.take(SIZE) == 0
