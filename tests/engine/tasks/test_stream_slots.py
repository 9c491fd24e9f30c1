"""Batches of a stream in memory that the caller has given, one slot for each."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.elements.chunks.chunk import Items
from penstock.engine.tasks.slots import StreamSlots
from penstock.memory.pool import each_alone
from penstock.plan.flow import Piece

STREAM = ps.Dataset.range(9).map(float).filter(lambda x: True).batch(3)
FLOAT = np.dtype(np.float64)


def given(plan=STREAM._plan):
    """The slots of a stream, and the arrays that the caller has given for them."""
    arrays = []

    def allocate(shape, dtype):
        arrays.append(np.full(shape, 77, dtype))
        return arrays[-1]

    return StreamSlots(plan, each_alone(allocate), np.empty), arrays


def piece(*batches):
    return Piece(Items(list(batches)), np.arange(len(batches)))


def handed_out(slots, *pieces):
    return [batch for made in slots.placed(iter(pieces)) for batch in made.chunk.elements()]


def test_the_first_batch_shows_how_large_the_others_are():
    slots, arrays = given()
    batches = handed_out(slots, *[piece(np.full(3, float(i))) for i in range(4)])
    assert [batch.tolist() for batch in batches] == [[i] * 3 for i in range(4)]
    assert [any(np.shares_memory(batch, array) for array in arrays) for batch in batches] == [False, True, True, True]


def test_a_batch_that_is_made_in_its_place_is_not_copied():
    slots, arrays = given()

    def flow():
        yield piece(np.zeros(3))
        for i in range(3):
            batch = slots.allocate((3,), FLOAT)
            batch[:] = i
            assert any(np.shares_memory(batch, array) for array in arrays)
            yield piece(batch)

    batches = [batch for made in slots.placed(flow()) for batch in made.chunk.elements()]
    assert [batch.tolist() for batch in batches] == [[0] * 3, [0] * 3, [1] * 3, [2] * 3]
    assert len(arrays) == 3


def test_batches_that_come_together_get_slots_of_their_own():
    """The second of two may have taken the place of the first."""
    slots, arrays = given()

    def flow():
        yield piece(np.zeros(3))
        yield piece(np.zeros(3))
        late = slots.allocate((3,), FLOAT)
        late[:] = 2
        yield piece(np.full(3, 1.0), late)

    batches = [batch for made in slots.placed(flow()) for batch in made.chunk.elements()]
    assert [batch.tolist() for batch in batches] == [[0] * 3, [0] * 3, [1] * 3, [2] * 3]
    assert all(any(np.shares_memory(batch, array) for array in arrays) for batch in batches[1:])


def test_batches_of_several_shapes_stay_where_they_are():
    slots, arrays = given(ps.Dataset.range(9).map(np.zeros).filter(lambda x: True).padded_batch(3)._plan)
    batches = [np.zeros((3, size)) for size in (1, 2, 3, 2, 1)]
    found = handed_out(slots, *map(piece, batches))
    assert all(np.shares_memory(made, batch) for made, batch in zip(found, batches, strict=True))
    assert len(arrays) <= 1


def test_the_flow_is_stopped_with_its_pieces():
    stopped = []

    def flow():
        try:
            while True:
                yield piece(np.zeros(3))
        finally:
            stopped.append(True)

    pieces = given()[0].placed(flow())
    next(pieces)
    pieces.close()
    assert stopped == [True]
