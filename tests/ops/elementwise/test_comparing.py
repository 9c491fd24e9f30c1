"""The net under traced functions: which elements are made both ways, and that a difference is found."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.elements.nested.nesting import leaf_column
from penstock.ops.elementwise.apply import apply_traced
from penstock.ops.elementwise.comparing import FIRST, FIRST_BYTES, RARELY, Comparing

NODE = Dataset.range(100).map(abs)._plan


def compared(sizes, values=np.arange):
    """Return the number of compared elements of each chunk, given the sizes."""
    comparing = Comparing()
    found = [comparing.due(leaf_column(values(size))) for size in sizes]
    return [0 if due is None else min(due.stop, size) - due.start for due, size in zip(found, sizes, strict=True)]


def test_the_first_elements_are_compared_whatever_their_chunks():
    assert compared([19, 1, 200, 30, 50]) == [19, 1, 200, 30, 6]
    assert compared([1000]) == [FIRST]
    assert sum(compared([7] * 36)) == 252


def test_later_elements_are_compared_occasionally():
    later = compared([FIRST, *[1024] * 640])
    assert later[0] == FIRST
    assert set(later[1:]) == {0, 1}
    gaps = np.diff(np.flatnonzero(later[1:]))  # in chunks: twice as many each time
    assert gaps.tolist() == [4, 8, 16, 32, 64, 128, 256]
    rare = compared([FIRST, *[RARELY // 4] * 400])
    assert 100 <= sum(rare[1:]) < 120


def test_large_elements_are_compared_more_often():
    later = compared([FIRST, *[64] * 400], lambda count: np.zeros((count, 50_000), np.uint8))
    assert sum(later[1:]) == 400 * 64 // FIRST


def test_a_few_elements_are_compared_if_each_is_as_large_as_a_batch():
    later = compared([1] * 600, lambda count: np.zeros((count, FIRST_BYTES // 8), np.uint8))
    assert later[:10] == [1] * 8 + [0] * 2
    assert sum(later) == 8 + 600 // FIRST


def test_elements_compared_later_are_at_varying_positions_of_their_chunks():
    comparing = Comparing()
    column = leaf_column(np.arange(RARELY))
    places = [due.start for due in (comparing.due(column) for _ in range(50)) if due is not None]
    assert len({place % 16 for place in places[1:]}) > 10


class Doubled:
    """Doubles numbers; in columns, from the `wrong`-th row of all on, it does not."""

    def __init__(self, wrong):
        self.wrong = wrong
        self.done = 0
        self.warned = 0
        self.function = lambda x: x * 2

    def columns(self, chunk, out, allocate):
        made = chunk.columns[0] * 2
        made[max(self.wrong - self.done, 0) :] += 1
        self.done += len(made)
        return leaf_column(made)

    def agrees(self, columns, items):
        return columns.elements() == items.elements()

    def warn_of_difference(self):
        self.warned += 1


@pytest.mark.parametrize(("wrong", "size"), [(20, 19), (250, 16), (100_000, 1000), (300, 500)])
def test_a_difference_is_found_wherever_it_begins(wrong, size):
    function = Doubled(wrong)
    apply = apply_traced(NODE, function, np.empty)
    made = []
    for low in range(0, 400_000, size):
        rows = np.arange(low, min(low + size, 400_000))
        made += apply(leaf_column(rows), rows, None).elements()
        if function.warned:
            break
    assert function.warned == 1
    assert made[-1] == 2 * (len(made) - 1)
    rows = np.arange(5)
    assert apply(leaf_column(rows), rows, None).elements() == [0, 2, 4, 6, 8]
    assert function.warned == 1
