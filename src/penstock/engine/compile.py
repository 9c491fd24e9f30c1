"""From a plan to the program that makes its rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.plan.graph import fold
from penstock.plan.node import Allocate, Node, Program

Wrap: TypeAlias = Callable[[Node, Program], Program]


def compiled(plan: Node, allocate: Allocate, wrap: Wrap) -> Program:
    """The plan's program; every node's own is passed through `wrap(node, program)`, which may measure it."""
    return fold(plan, lambda node, inputs: wrap(node, node.program(inputs, allocate)))
