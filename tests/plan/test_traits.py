"""The traits of operations, as plans show them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Dataset
from penstock.plan.graph import post_order
from penstock.plan.ids import ordinals
from tests.plan.flows import SIZES, begun, stream_of

EVEN = Dataset.range(20).filter(lambda x: x % 2 == 0)


@pytest.mark.parametrize(
    ("ds", "ids"),
    [
        (EVEN.map(abs), "kept"),
        (EVEN.take(3), "kept"),
        (EVEN.enumerate(), "kept"),
        (EVEN.batch(2), "counted"),
        (EVEN.concatenate(EVEN), "counted"),
        (EVEN.batch(2).unbatch(), "derived"),
    ],
)
def test_the_ids_of_a_streams_elements(ds, ids):
    assert ds._plan.traits.ids == ids


def test_ids_that_are_kept_or_counted_are_those_of_the_pieces():
    taken, batched = EVEN.skip(2)._plan, EVEN.batch(2)._plan
    source = stream_of(range(6), SIZES[2])
    kept = [int(one) for piece in begun(taken, source)(3) for one in piece.ids]
    assert kept == [3000 + row for row in range(2, 6)]
    counted = [one for piece in begun(batched, source)(3) for one in piece.ids.tolist()]
    assert counted == ordinals(3, 0, 3).tolist()


def test_an_operation_that_selects_makes_some_of_what_it_is_given():
    (node,) = [node for node in post_order(EVEN._plan) if node.traits.selects]
    made = node.spread(np.empty)(next(stream_of(range(6), (6,))(0)))
    assert made.chunk.elements() == [0, 2, 4]
