"""Count the elements that a mixture draws from each input, running inputs only if their length is unknown."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from penstock.elements.chunks.chunk import Chunk, Columns
from penstock.elements.nested.structure import LEAF
from penstock.engine.runs.lowering import opened
from penstock.engine.runs.scope import CarryOver, Scope
from penstock.engine.runs.session import Session
from penstock.engine.tasks.observer import Unobserved
from penstock.engine.tuning.settings import Settings
from penstock.ops.combine.mixture import Mixture
from penstock.plan.flow import MOST_READ, Flow, Mark, Open, Piece, close
from penstock.plan.node import Node
from penstock.plan.types import INFINITE, UNKNOWN
from penstock.rewrite.passes import RewritePasses, rewritten


def inputs_to_run(mixture: Mixture) -> tuple[Node, ...]:
    """Return the inputs to run for the counts: the members of unknown length, and the guide of weights or choices."""
    if mixture.countable:
        return ()
    return tuple(
        node for number, node in enumerate(mixture.inputs) if number >= len(mixture.members) or node.length == UNKNOWN
    )


def draw_counts(mixture: Mixture, count: int, epoch: int, settings: Settings, passes: RewritePasses) -> list[int]:
    """Return the number of the first `count` elements of an epoch from each member; fewer if the epoch is shorter.

    The seeds of the mixture are bound. The mixture runs as usual, but on members that yield their own number instead of
    their elements. Only the members of `inputs_to_run` are run for that.
    """
    if mixture.countable:
        return mixture.draw_counts(count, epoch)
    counts, left = np.zeros(len(mixture.members), np.int64), count
    with closing(Session(settings, CarryOver(), Unobserved())) as session:
        scope = session.scope()
        members = [_numbers(number, node, scope, passes) for number, node in enumerate(mixture.members)]
        guides = [opened(rewritten(node, passes).plan, scope) for node in mixture.inputs[len(members) :]]
        flow = mixture.flow((*members, *guides), epoch, None, np.empty)
        try:
            while left and (piece := next(flow, None)) is not None:
                numbers = piece.chunk.slice(0, min(left, len(piece))).held()
                counts += np.bincount(numbers, minlength=len(counts))
                left -= len(numbers)
        finally:
            close(flow)
    return counts.tolist()


def _numbers(number: int, member: Node, scope: Scope, passes: RewritePasses) -> Open:
    """Return a stream that repeats the number of a member, once for each of its elements."""
    if member.length != UNKNOWN:
        return lambda epoch, mark=None: _repeated(number, member.length)
    source = opened(rewritten(member, passes).plan, scope)
    return lambda epoch, mark=None: _for_each(number, source, epoch, mark)


def _repeated(number: int, length: int) -> Flow:
    given = 0
    while length == INFINITE or given < length:
        size = MOST_READ if length == INFINITE else min(length - given, MOST_READ)
        yield Piece(_chunk_of(number, size), np.zeros(size, np.int64))
        given += size


def _for_each(number: int, source: Open, epoch: int, mark: Mark) -> Flow:
    flow = source(epoch, mark)
    try:
        for piece in flow:
            yield Piece(_chunk_of(number, len(piece)), piece.ids)
    finally:
        close(flow)


def _chunk_of(number: int, count: int) -> Chunk:
    return Columns(LEAF, [np.full(count, number)], count)
