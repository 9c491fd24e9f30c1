"""Gathering by a number: lengths of the results, and marks."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, UNKNOWN, Dataset
from penstock.core.errors import CursorError
from penstock.core.frozen import frozen
from penstock.ops.elementwise.beside import Beside, whole_number
from penstock.ops.group.by_key import Gather
from penstock.ops.read.given import Given
from tests.plan.flows import assert_streams, stream_of


@frozen()
class Threes(Gather):
    """Gather three elements of each key."""

    drop: bool = False

    @property
    def keeps_left(self):
        return not self.drop

    def most(self, key, largest):
        return 3

    def collect(self, group, allocate):
        if group.key == 9:
            raise LookupError("not 9")
        return (group.key, group.elements.chunk.elements())


def over(ds, *, drop=False):
    return Threes(Beside(ds._plan, "key", None, whole_number), drop)


NUMBERS = [1, 2, 1, 2, 1, 0, 0, 2, 2, 0, 1, 5]
WANTED = [(1, [1, 1, 1]), (2, [2, 2, 2]), (0, [0, 0, 0]), (1, [1]), (2, [2]), (5, [5])]


@pytest.mark.parametrize("drop", [False, True])
def test_remaining_groups_come_in_key_order_or_are_dropped(drop):
    node = Threes(Beside(Given(), "key", None, whole_number), drop)
    assert_streams(node, [[(x, x) for x in NUMBERS]], WANTED[:3] if drop else WANTED)


def test_the_length_is_known_only_by_iterating():
    assert Dataset(over(Dataset.range(9))).cardinality() == UNKNOWN
    assert Dataset(over(Dataset.counter())).cardinality() == INFINITE
    assert not over(Dataset.range(9)).indexed


def test_an_error_names_the_operation_after_earlier_groups():
    received = []
    with pytest.raises(LookupError, match="not 9") as caught:
        received.extend(Dataset(over(Dataset.from_source([1, 9, 1, 9, 1, 9]))))
    assert received == [(1, [1, 1, 1])]
    assert "in threes()" in "\n".join(caught.value.__notes__)


def test_groups_are_yielded_together_if_no_more_input_is_needed():
    pairs = [(x, x) for x in NUMBERS]
    node = Threes(Beside(Given(), "key", None, whole_number), True)

    def sizes(pieces):
        return [len(piece) for piece in node.flow((stream_of(pairs, pieces),), 0, None, np.empty) if len(piece)]

    assert sizes((100,)) == [3]
    assert sizes((1,)) == [1, 1, 1]


@pytest.mark.parametrize("mark", [[-1, None], [0], [1, [None, 0]], [1, [None, -2, []]], [1, [None, 2, [0, 7]]], "x"])
def test_an_invalid_mark_is_refused(mark):
    node = Threes(Beside(Given(), "key", None, whole_number), False)
    with pytest.raises(CursorError):
        list(node.flow((stream_of([(x, x) for x in NUMBERS], (2,)),), 0, mark, np.empty))
