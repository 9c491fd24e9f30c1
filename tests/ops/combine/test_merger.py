"""Drawing from streams that have some elements at hand, and end at different times."""

from __future__ import annotations

import numpy as np

from penstock.elements.chunks.chunk import Items
from penstock.ops.combine.merger import Merger
from penstock.plan.flow import Piece


def stream(values, sizes, asked):
    """Return a stream of `values` in repeating pieces of `sizes`; `asked` records the number of pieces made."""

    def opened(epoch, mark=None):
        low, number = mark or 0, 0
        while low < len(values):
            high = min(low + sizes[number % len(sizes)], len(values))
            asked.append(high)
            yield Piece(Items(list(values[low:high])), np.arange(low, high), high)
            low, number = high, number + 1

    return opened


def drawn(merger, which):
    return [element for chunk in merger.drawn([np.array(which)]) for element in chunk.elements()]


def test_chosen_elements_do_not_depend_on_the_pieces():
    merger = Merger([stream(list("abcdef"), [1, 3], []), stream([1, 2, 3, 4], [2], [])], 0, [None, None])
    assert drawn(merger, [0, 0, 1, 0, 1, 1, 0]) == ["a", "b", 1, "c", 2, 3, "d"]
    assert merger.ended is None
    assert drawn(merger, [1, 0]) == [4, "e"]


def test_drawing_stops_at_the_first_choice_of_an_ended_input():
    merger = Merger([stream(list("ab"), [2], []), stream([1, 2, 3], [1], [])], 0, [None, None])
    assert drawn(merger, [0, 1, 0, 1, 0, 1]) == ["a", 1, "b", 2]
    assert merger.ended == 0
    assert drawn(merger, [1]) == [3]
    assert merger.ended is None


def test_marks_continue_after_the_drawn_elements():
    inputs = [stream(list("abcdef"), [1, 3], []), stream([1, 2, 3, 4], [2], [])]
    merger = Merger(inputs, 0, [None, None])
    drawn(merger, [0, 1, 0])
    again = Merger(inputs, 0, merger.marks)
    assert drawn(again, [1, 0, 1, 0]) == [2, "c", 3, "d"]


def test_no_piece_is_made_before_its_turn():
    asked = [[], []]
    merger = Merger([stream(list("abcdef"), [1], asked[0]), stream([1, 2, 3], [1], asked[1])], 0, [None, None])
    chunks = merger.drawn([np.array([0, 0, 1])])
    next(chunks)
    assert asked == [[1], []]
    next(chunks)
    assert asked == [[1, 2], []]
