"""Streams for tests: pieces of any sizes, empty ones too, and what must hold of the marks that a node gives."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import cycle, product
from typing import Any

import numpy as np

from penstock.elements.chunks.chunk import Items
from penstock.plan.deferred import settled
from penstock.plan.flow import Flow, Mark, Open, Piece, Reader
from penstock.plan.node import Node
from penstock.testing.laws import same

SIZES = ((1,), (2,), (3, 0, 1), (0, 0, 4), (1000,))
"""Sizes of pieces, taken one after another and then again."""


def stream_of(values: Sequence[Any], sizes: Sequence[int], marks: list[Mark] | None = None) -> Open:
    """Return an opener of pieces of these sizes; a mark counts the elements before it. `marks` records each mark."""

    def begin(epoch: int, mark: Mark = None) -> Flow:
        if marks is not None:
            marks.append(mark)
        low = mark or 0
        for size in cycle(sizes):
            if low >= len(values):
                return
            high = min(low + size, len(values))
            yield Piece(Items(list(values[low:high])), 1000 * epoch + np.arange(low, high), high)
            low = high

    return begin


def begun(node: Node, *inputs: Open) -> Open:
    """Return an opener of the pieces of a node over replaced inputs."""
    return lambda epoch, mark=None: node.flow(inputs, epoch, mark, np.empty)


def elements_of(source: Open, epoch: int = 0, mark: Mark = None) -> list[Any]:
    """Return all elements of the source."""
    return [element for piece in source(epoch, mark) for element in piece.chunk.elements()]


def ids_of(source: Open, epoch: int = 0, mark: Mark = None) -> list[int]:
    """Return the ids of all elements, which key their randomness."""
    return [one for piece in source(epoch, mark) for one in piece.ids.tolist()]


def assert_streams(node: Node, inputs: Sequence[Sequence[Any]], wanted: Sequence[Any], epoch: int = 0) -> None:
    """Assert that the node yields `wanted`, however its inputs are cut, and from every mark on the rest of it.

    A mark travels as JSON, and the inputs may come in other pieces after it.
    """
    first = tuple(stream_of(values, SIZES[0]) for values in inputs)
    ids = ids_of(begun(node, *first), epoch)
    for sizes, others in product(SIZES, (SIZES[0], SIZES[3])):
        source = begun(node, *(stream_of(values, sizes) for values in inputs))
        other = begun(node, *(stream_of(values, others) for values in inputs))
        assert_same(elements_of(source, epoch), wanted)
        assert ids_of(source, epoch) == ids
        assert_reopens(source, other, wanted, epoch)


def assert_reopens(source: Open, other: Open, wanted: Sequence[Any], epoch: int = 0) -> None:
    """Assert it of the marks after pieces, and of a reader's marks at every element."""
    came, ids = 0, ids_of(source, epoch)
    for piece in source(epoch):
        came += len(piece)
        mark = json.loads(json.dumps(settled(piece.after)))
        assert_same(elements_of(other, epoch, mark), wanted[came:])
        assert ids_of(other, epoch, mark) == ids[came:]
    assert came == len(wanted)
    for step in range(1, len(wanted) + 2, max(len(wanted) // 7, 1)):
        with Reader(source, epoch) as reader:
            reader.skip(step)
            mark = json.loads(json.dumps(settled(reader.mark)))
        with Reader(other, epoch, mark) as again:
            rest = again.take(len(wanted) + 1)
        assert_same([] if rest is None else rest.chunk.elements(), wanted[step:])


def assert_same(made: Sequence[Any], wanted: Sequence[Any]) -> None:
    """Assert that all elements are equal to the last bit."""
    assert len(made) == len(wanted), (made, wanted)
    assert all(same(one, other) for one, other in zip(made, wanted, strict=True)), (made, wanted)
