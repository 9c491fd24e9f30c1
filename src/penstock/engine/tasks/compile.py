"""Compile a plan to the program that makes its rows, or to the function that spreads rows into elements."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple, TypeAlias

from penstock.core.arrays import Allocate
from penstock.engine.tasks.call_stack import DEEPEST, on_another_stack
from penstock.engine.tasks.observer import Observer, Occurrence, Wrapped
from penstock.plan.flow import Piece, Spread
from penstock.plan.graph import fold
from penstock.plan.node import Guard, Node
from penstock.plan.step import Step
from penstock.plan.types import Program

Steps: TypeAlias = "tuple[Wrapped[Step], Steps] | None"
"""A step and the steps below it."""


class PartialProgram(NamedTuple):
    """A program under construction: consecutive steps over the program `source`, in which `depth` programs are nested.

    `number` is that of the last node.
    """

    source: Wrapped[Program]
    number: int
    steps: Steps = None
    depth: int = 0

    def program(self, observer: Observer) -> Program:
        """Return the program of the source and all steps."""
        steps: list[Wrapped[Step]] = []
        below = self.steps
        while below is not None:
            step, below = below
            steps.append(step)
        return observer.join(self.source, steps)


def _extended(
    number: int, node: Node, inputs: tuple[PartialProgram, ...], allocate: Allocate, observer: Observer
) -> PartialProgram:
    """Return the partial program up to `node`: the input's with one more step, or one that calls the inputs' programs.

    The observer wraps each node's part, inputs first.
    """
    step, below = node.as_step(allocate), tuple(partial.number for partial in inputs)
    if step is not None:
        (partial,) = inputs
        wrapped = observer.wrap(Occurrence(number, node, "step", below), step)
        return partial._replace(number=number, steps=(Wrapped(number, wrapped, step), partial.steps))
    program = node.program(tuple(partial.program(observer) for partial in inputs), allocate)
    wrapped = observer.wrap(Occurrence(number, node, "program", below), program)
    depth = 1 + max((partial.depth for partial in inputs), default=0)
    if depth == DEEPEST:
        depth, wrapped, program = 0, on_another_stack(wrapped), on_another_stack(program)
    return PartialProgram(Wrapped(number, wrapped, program), number, depth=depth)


def compiled(plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> Program:
    """Return the plan's program, wrapped by the observer; its operations have the numbers from `numbered_from` on."""
    return _compiled(plan, allocate, observer, count(numbered_from))


def _compiled(plan: Node, allocate: Allocate, observer: Observer, numbers: Iterator[int]) -> Program:
    partial = fold(plan, lambda node, inputs: _extended(next(numbers), node, inputs, allocate, observer))
    return partial.program(observer)


class PartialSpread(NamedTuple):
    """A spread under construction: the last of consecutive spreads, and those before it."""

    last: Spread
    before: PartialSpread | None = None
    depth: int = 0  # of the spreads that call one another

    @property
    def spread(self) -> Spread:
        """One spread that applies all of them in turn."""
        spreads = [self.last]
        before = self.before
        while before is not None:
            spreads.append(before.last)
            before = before.before
        if len(spreads) == 1:
            return self.last
        spreads.reverse()
        return _in_turn(tuple(spreads))


def _spread_after(
    of: Occurrence, before: PartialSpread, allocate: Allocate, observer: Observer, guard: Guard | None
) -> PartialSpread:
    """Return `before` with the wrapped spread of an elementwise node at its end; `guard` runs the node by itself."""
    node = of.node
    alone = None if guard is None else guard(node, node.spread(allocate))
    if not node.traits.calls_input:
        return PartialSpread(observer.wrap(of, alone or node.spread(allocate)), before, before.depth)
    below, depth = before.spread, before.depth + 1
    if depth == DEEPEST:
        below, depth = on_another_stack(below), 1
    spread = node.spread_over(below) if alone is None else _in_turn((below, alone))
    return PartialSpread(observer.wrap(of, spread), depth=depth)


def spreading(plan: Node, allocate: Allocate, observer: Observer, numbered_from: int = 0) -> Spread:
    """Return the function that makes the elements of a stretch of elementwise nodes from a piece or from its rows.

    The guard of a node runs each node below it by itself. The operations have the numbers from `numbered_from` on.
    """
    numbers = count(numbered_from)
    stretch: list[tuple[Node, Guard | None]] = []
    base, guard = plan, None
    while not base.indexed and base.inputs:
        own = base.guard
        stretch.append((base, guard if own is None else None))
        base, guard = base.inputs[0], own or guard
    if base.indexed:
        rows = of_rows(_compiled(base, allocate, observer, numbers))
        partial = PartialSpread(rows if guard is None else guard(base, rows))
    else:
        partial = PartialSpread(base.spread(allocate))
    for node, of_node in reversed(stretch):
        number = next(numbers)
        of = Occurrence(number, node, "spread", (number - 1,) if number > numbered_from else ())
        partial = _spread_after(of, partial, allocate, observer, of_node)
    return partial.spread


def of_rows(program: Program) -> Spread:
    """Return the function that makes the elements of a piece of rows with a program."""
    return lambda piece: Piece(program(piece.ids), piece.ids, piece.after)


def _in_turn(spreads: tuple[Spread, ...]) -> Spread:
    def run(piece: Piece) -> Piece:
        for spread in spreads:
            piece = spread(piece)
        return piece

    return run
