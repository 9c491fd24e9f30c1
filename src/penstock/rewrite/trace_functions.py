"""Run functions made of NumPy arithmetic on whole columns."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.core.frozen import frozen
from penstock.elements.nested.nesting import PathStep, part_in
from penstock.elements.spec import ArraySpec
from penstock.ops import elementwise
from penstock.ops.elementwise.map import Map
from penstock.ops.group.grouping import Grouping
from penstock.plan.functions import TracedFunction, has_traced_form
from penstock.plan.graph import fold_once, with_inputs
from penstock.plan.node import Node
from penstock.plan.types import Spec

if TYPE_CHECKING:
    from penstock.tracing.traced import Traced

_PLAIN = (FunctionType, BuiltinFunctionType, partial, type, np.ufunc)
"""Types of functions that can be inspected; declarative functions are other objects."""

LISTS = ("from_generator", "from_tensors")
VERDICT = ArraySpec((), np.dtype(np.bool_))


def trace_map(node: Node) -> Node | None:
    """`x.map(f) -> x.map(f, traced)` if the elements of x are known, and columns are known to give the results of f."""
    if not isinstance(node, Map) or not _may_trace(node, node.function) or _comes_in_lists(node.input):
        return None
    function = _traced(node.function, _spec_of(node.input, node.on))
    return None if function is None else replace(node, function=function)


def trace_filter(node: Node) -> Node | None:
    """`x.filter(f) -> x.filter(f, traced)`, likewise, if f returns one bool."""
    if not isinstance(node, elementwise.filter.Filter) or not _may_trace(node, node.predicate):
        return None
    if _comes_in_lists(node.input):
        return None
    predicate = _traced(node.predicate, _spec_of(node.input))
    return None if predicate is None or predicate.made != VERDICT else replace(node, predicate=predicate)


def _may_trace(node: Map | elementwise.filter.Filter, function: object) -> bool:
    return node.traceable and not node.vectorized and not node.draws and isinstance(function, _PLAIN)


def _comes_in_lists(node: Node) -> bool:
    """Return True if elements exist but no columns, which would take longer to build than calling the function."""
    return fold_once(node, _is_of_lists)


def _is_of_lists(node: Node, below: tuple[bool, ...]) -> bool:
    return not isinstance(node, Grouping) and (node.name in LISTS or any(below))


def _spec_of(node: Node, on: PathStep | None = None) -> Spec | None:
    """Return the spec of a node or of a part of its elements, including specs of traced functions."""
    try:
        spec = fold_once(node, _telling).spec()
        return spec if spec is None or on is None else part_in(spec, on)
    except Exception:  # noqa: BLE001 - the first element that does not fit raises the error again
        return None


def _telling(node: Node, inputs: tuple[Node, ...]) -> Node:
    node = with_inputs(node, inputs)
    if isinstance(node, Map) and has_traced_form(node.function):
        return replace(node, function=_Declared(node.function))
    return node


@frozen()
class _Declared:
    """A traced function that declares the spec of its results."""

    traced: TracedFunction
    random = False

    def __call__(self, value: Any, *, rng: Any = None) -> Any:
        return self.traced.function(value)

    def spec(self, spec: Spec) -> Spec | None:
        return self.traced.made if spec == self.traced.given else None


def _traced(function: Any, spec: Spec | None) -> Traced | None:
    if spec is None:
        return None
    from penstock.tracing.traced import traced  # imported only for a pipeline that may be traced

    return traced(function, spec)
