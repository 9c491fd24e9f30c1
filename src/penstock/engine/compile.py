"""From a plan to the program that makes its rows, or to what makes the elements that come of some."""

from __future__ import annotations

from penstock.engine.observer import Observer, Wrap
from penstock.plan.flow import Piece, Spread
from penstock.plan.graph import fold
from penstock.plan.node import Allocate, Begin, Node, Program, Single


def compiled(plan: Node, allocate: Allocate, wrap: Wrap) -> Program:
    """The plan's program; every node's own is passed through `wrap(node, program)`, which may measure it."""
    return fold(plan, lambda node, inputs: wrap(node, node.program(inputs, allocate)))


def compiled_with_single(plan: Node, allocate: Allocate, observer: Observer) -> tuple[Program, Single | None]:
    """The plan's program, and what makes the element of one row without it, where all nodes have such a thing."""

    def compile_node(node: Node, inputs: tuple[tuple[Program, Single | None], ...]) -> tuple[Program, Single | None]:
        program = observer.wrap(node, node.program(tuple(program for program, _ in inputs), allocate))
        singles = tuple(single for _, single in inputs if single is not None)
        single = node.single(singles) if len(singles) == len(inputs) else None
        return program, None if single is None else observer.wrap_single(node, single)

    return fold(plan, compile_node)


def beginning(plan: Node) -> Begin | None:
    """What begins to make the plan's rows beside its caller, where all it takes is to read them."""
    return fold(plan, lambda node, inputs: node.beginning(inputs))


def spreading(plan: Node, allocate: Allocate, observer: Observer) -> Spread:
    """What makes the elements of a stretch of elementwise nodes, out of a piece that has them or only their rows."""
    if plan.indexed:
        program = compiled(plan, allocate, observer.wrap)
        return lambda piece: Piece(program(piece.ids), piece.ids, piece.after)
    if not plan.inputs:
        return plan.spread(lambda piece: piece, allocate)
    source = spreading(plan.inputs[0], allocate, observer)
    return observer.wrap_spread(plan, plan.spread(source, allocate))
