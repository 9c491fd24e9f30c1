"""Run a function made of NumPy arithmetic on whole columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, FunctionType

import numpy as np

from penstock.elements.nesting import part_in
from penstock.ops.elementwise.map import Map
from penstock.plan.node import Node

PLAIN = (FunctionType, BuiltinFunctionType, partial, type, np.ufunc)
"""What a function may be to be looked into; declarative ones are other objects."""


def trace_map(node: Node) -> Node | None:
    """`x.map(f) -> x.map(f, traced)` where the elements of x are known, and columns are known to give what f gives."""
    if not isinstance(node, Map) or not node.traceable or node.vectorized or node.draws:
        return None
    if not isinstance(node.function, PLAIN):
        return None
    spec = node.input.spec()
    if spec is None:
        return None
    from penstock.plan.tracing.traced import traced  # only a pipeline that may be traced pays for the import

    function = traced(node.function, spec if node.on is None else part_in(spec, node.on))
    return None if function is None else replace(node, function=function)
