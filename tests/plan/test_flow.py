"""Pieces that follow one another, and readers that know the mark of the next element."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import CursorError
from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.nested.structure import LEAF
from penstock.plan.flow import Piece, Reader, close, join_pieces, left_out, resumed
from tests.plan.flows import SIZES, stream_of

LENGTHS = [0, 1, 2, 3, 4, 5, 8]


def piece(*values, after=None):
    return Piece(Items(list(values)), np.arange(len(values)), after)


# Pieces


def test_a_part_of_a_piece_has_its_ids_and_no_mark():
    part = piece("a", "b", "c", after=3).slice(1, 3)
    assert (part.chunk.elements(), part.ids.tolist(), part.after, len(part)) == (["b", "c"], [1, 2], None, 2)


def test_selected_elements_keep_the_mark_of_the_piece():
    chosen = piece("a", "b", "c", after=3).select(np.array([2, 0]))
    assert (chosen.chunk.elements(), chosen.ids.tolist(), chosen.after) == (["c", "a"], [2, 0], 3)
    assert len(piece("a", after=1).select(np.array([], np.int64))) == 0


def test_pieces_are_joined_in_order_and_columns_stay_columns():
    columns = [Piece(Columns(LEAF, [np.arange(low, low + 2)], 2), np.arange(low, low + 2)) for low in (0, 2)]
    both = join_pieces(columns)
    assert isinstance(both.chunk, Columns)
    assert both.chunk.elements() == both.ids.tolist() == [0, 1, 2, 3]
    assert join_pieces(columns[:1]) is columns[0]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7, 8, 1000])
def test_exactly_the_first_elements_are_skipped(count):
    elements = iter(range(1000))
    pieces = list(left_out(elements, count, "mark"))
    assert [(len(piece), piece.after) for piece in pieces] == [(0, "mark")] * len(pieces)
    assert bool(pieces) == bool(count)
    assert list(elements) == list(range(count, 1000))
    with pytest.raises(CursorError, match="beyond the end"):
        list(left_out(iter(range(count)), count + 1, None))


# Readers


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_runs_of_any_length_have_all_elements_in_order(sizes, length, most):
    for way in ("read", "take"):
        with Reader(stream_of(range(length), sizes), 0) as reader:
            runs = []
            while (run := getattr(reader, way)(most)) is not None:
                runs.append(run.chunk.elements())
            assert reader.read(1) is reader.take(1) is None
            assert reader.skip(1) == reader.ready() == 0
        assert [element for run in runs for element in run] == list(range(length))
        assert all(1 <= len(run) <= most for run in runs)
        if way == "take":
            assert all(len(run) == most for run in runs[:-1])


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("others", SIZES)
def test_the_mark_of_every_element_leads_back_to_it_for_any_pieces(sizes, others):
    with Reader(stream_of(range(9), sizes), 0) as reader:
        for at in range(10):
            with Reader(stream_of(range(9), others), 0, reader.mark) as again:
                assert again.mark == reader.mark
                rest = again.take(100)
                assert (rest.chunk.elements() if rest else []) == list(range(at, 9))
            reader.read(1)


@given(st.lists(st.integers(0, 4), min_size=1).filter(any), st.lists(st.integers(1, 5), max_size=12), st.data())
def test_a_reader_resumes_from_the_mark_of_a_reader(sizes, asked, data):
    values = range(20)
    with Reader(stream_of(values, sizes), 0) as reader:
        passed = sum(data.draw(st.sampled_from([reader.skip, lambda n: len(reader.take(n) or ())]))(n) for n in asked)
        ahead = data.draw(st.booleans()) and reader.ready()
        assert ahead <= 20 - passed
        again = Reader(stream_of(values, data.draw(st.sampled_from(SIZES))), 0, reader.mark)
    assert [x for run, _ in again.runs() for x in run.chunk.elements()] == list(values[passed:])


def test_every_run_has_the_mark_after_each_of_its_elements():
    for run, mark_after in Reader(stream_of(range(7), (3,)), 0).runs():
        for count in range(len(run) + 1):
            rest = Reader(stream_of(range(7), (2,)), 0, mark_after(count)).runs()
            assert [x for run, _ in rest for x in run.chunk.elements()] == list(range(run.ids[0] + count, 7))


def test_an_input_is_opened_at_the_start_of_the_piece_that_is_being_read():
    marks = []
    reader = Reader(stream_of(range(9), (4,)), 0)
    for count, wanted in ((3, None), (1, 4), (1, 4), (3, 8), (1, 9)):
        reader.take(count)
        with Reader(stream_of(range(9), (4,), marks), 0, reader.mark) as again:
            again.ready()
        assert marks.pop() == wanted


def test_a_closed_reader_stops_its_input():
    ended = []

    def source(epoch, mark=None):
        try:
            while True:
                yield piece(1, after=None)
        finally:
            ended.append(True)

    with Reader(source, 0) as reader:
        reader.read(1)
    assert ended == [True]


def test_flows_without_close_are_ignored():
    close(iter([]))


# Marks that nobody gave


@pytest.mark.parametrize(
    "mark", [0, "a", [], [None], [None, 1, 2], {"a": 1}, [None, -1], [None, 1.0], [None, True], [0, "1"]]
)
def test_an_invalid_mark_of_a_reader_is_refused(mark):
    with pytest.raises(CursorError, match="mark"):
        Reader(stream_of(range(3), (1,)), 0, mark)


def test_a_mark_beyond_the_end_is_refused():
    assert Reader(stream_of(range(3), (2,)), 0, [2, 1]).read(1) is None
    with pytest.raises(CursorError, match="beyond the end"):
        Reader(stream_of(range(3), (2,)), 0, [2, 2]).read(1)


def test_the_mark_of_a_node_has_counts_and_the_mark_of_its_input():
    assert resumed(None, (3, None)) == (3, None)
    assert resumed([1, ["x", 4]], (0, None)) == [1, ["x", 4]]
    assert resumed([5, [1, 2, 3], [7, "y"], [4, None]], (0, [], (0, None), [0, None])) == [
        5,
        [1, 2, 3],
        [7, "y"],
        [4, None],
    ]


@pytest.mark.parametrize(
    "mark",
    [1, "ab", [], [1], [1, 2, 3], ["1", None], [-1, None], [1.0, None], [False, None], [1 << 60, None], {0: 1, 1: 2}],
)
def test_an_invalid_mark_of_a_node_is_refused(mark):
    with pytest.raises(CursorError, match="mark"):
        resumed(mark, (0, None))


@pytest.mark.parametrize(
    ("mark", "form"),
    [
        ([[1, -1]], ([],)),
        ([[1, [2]]], ([],)),
        ([None], ([],)),
        ([[1]], ([0, 0],)),
        ([[1, 2, 3]], ([0, 0],)),
        ([[1, "2"]], ([0, 0],)),
        (["12"], ([0, 0],)),
    ],
)
def test_lists_inside_a_mark_are_checked(mark, form):
    with pytest.raises(CursorError, match="mark"):
        resumed(mark, form)


# Ids
