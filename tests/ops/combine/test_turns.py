"""`Turns`: one element of each in turn, and of those that have not ended."""

from __future__ import annotations

import json
from itertools import product, zip_longest

import numpy as np
import pytest

from penstock import Dataset
from penstock.core.errors import CursorError
from penstock.ops.combine.turns import Turns
from penstock.plan.types import INFINITE, UNKNOWN
from tests.plan.flows import SIZES, assert_streams, begun, elements_of, ids_of, stream_of

ONE = Dataset.range(3)._plan


def turns(count, *, keyed=True):
    return Turns((ONE,) * count, tuple(range(count)), count, keyed)


def in_turns(parts):
    return [each for row in zip_longest(*parts) for each in row if each is not None]


@pytest.mark.parametrize("lengths", [(0,), (9,), (0, 0), (4, 4), (7, 2, 0, 5), (1, 1, 1, 8), (3, 3, 2)])
def test_elements_come_in_turns_however_the_streams_are_cut(lengths):
    parts = [[f"{number}: {place}" for place in range(length)] for number, length in enumerate(lengths)]
    assert_streams(turns(len(parts)), parts, in_turns(parts))


@pytest.mark.parametrize(("first", "second"), list(product(SIZES, SIZES)))
def test_streams_in_pieces_of_different_sizes_come_in_turns_too(first, second):
    sources = stream_of(range(100, 109), first), stream_of(range(200, 205), second)
    wanted = in_turns([range(100, 109), range(200, 205)])
    node = begun(turns(2), *sources)
    assert elements_of(node) == wanted
    for piece in node(0):
        rest = elements_of(node, 0, json.loads(json.dumps(piece.after)))
        assert rest == wanted[len(wanted) - len(rest) :]


def test_equal_ids_of_different_streams_are_made_distinct():
    sources = [stream_of(range(9), (3,))] * 4
    assert len(set(ids_of(begun(turns(4), *sources)))) == 9
    apart = ids_of(begun(turns(4, keyed=False), *sources))
    assert len(set(apart)) == 36
    assert min(apart) >= 0
    alone = Turns((ONE,), (2,), 4, keyed=False)
    assert ids_of(begun(alone, sources[0])) == apart[2::4]  # as in any number of shards


def test_elements_before_the_error_of_a_stream_arrive_first():
    def failing(epoch, mark=None):
        yield from stream_of(range(2), (1,))(epoch, mark)
        raise LookupError("the third")

    flow = begun(turns(3), stream_of(range(10, 19), (2,)), failing, stream_of(range(20, 29), (9,)))(0)
    made = []
    with pytest.raises(LookupError, match="the third"):
        made.extend(element for piece in flow for element in piece.chunk.elements())
    assert made == [10, 0, 20, 11, 1, 21, 12]


@pytest.mark.parametrize("mark", [[2, [None, None]], [0, [None]], [0, [[None, 0], None]], ["a", [None] * 2]])
def test_a_mark_of_another_node_is_refused(mark):
    with pytest.raises(CursorError):
        elements_of(begun(turns(2), *[stream_of(range(4), (2,))] * 2), 0, mark)


def test_the_length_is_the_sum_of_all_lengths():
    assert turns(3).length == 9
    stream = Dataset.range(3).filter(bool)._plan
    endless = Dataset.counter()._plan
    assert Turns((ONE, endless), (0, 1), 2, True).length == INFINITE
    assert Turns((endless, stream), (0, 1), 2, True).length == UNKNOWN
    assert turns(2).spec().dtype == np.int64
