"""Rules about functions that probably do not do what the user intends."""

from __future__ import annotations

import dis
import random
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from penstock.elements.nested.structure import flatten
from penstock.elements.spec import Spec
from penstock.lint.written import Found, Written
from penstock.ops.elementwise.map import Map
from penstock.ops.elementwise.tolerant import IgnoreErrors, Tolerant
from penstock.ops.group.grouping import Grouping
from penstock.plan.graph import post_order
from penstock.plan.node import Node, RowMap
from penstock.plan.safety.instructions import Known, follow

OF_TORCH = ("bernoulli", "multinomial", "normal", "rand", "rand_like", "randint", "randn", "randn_like", "randperm")


def global_generator_in_a_function(written: Written) -> Iterator[Found]:
    """A function draws from the random generator that a whole process shares.

    Its draws depend on the order in which workers call it, so they differ from run to run, even with a seed, and
    processes that begin alike draw alike. A parameter `rng` receives a NumPy generator that belongs to the element's
    row and epoch: the same for any number of workers, and after a restore.
    """
    for node, function in _functions(written.plan, of_tensors=True):
        if (drawn := _drawn_by(function, function.__code__)) is not None:
            yield Found(
                node,
                f"{node.label()} calls {drawn}(), which draws from a generator that the whole process shares",
                "add a parameter `rng` to the function and draw from that",
            )


def in_place_function(written: Written) -> Iterator[Found]:
    """A function changes its element by `+=` or the like, which writes into an array.

    An array of a source or a cache is read-only, so writing raises an error. Other arrays must be copied for the
    function, since another operation may hold them; an operation that makes a new array needs no copy.
    """
    for node, function in _functions(written.plan):
        if not node.inputs or _are_numbers(node.inputs[0].spec()):
            continue
        if (name := _changed_by(function)) is not None:
            yield Found(
                node,
                f"{node.label()} changes its element in place, by an operator such as `{name} += 1`",
                f"return a new array, as by `{name} + 1`",
            )


def dataset_as_an_element(written: Written) -> Iterator[Found]:
    """A `map` returns a dataset for each element, and no later operation iterates these datasets.

    The result is one dataset for each element. `flat_map` yields the elements of the returned datasets instead, one
    dataset after another; `interleave` alternates between several.
    """
    node = written.plan
    while isinstance(node, RowMap | Grouping):
        node = node.input
    if isinstance(node, Map) and _is_dataset(node, written) and not _is_dataset(node.input, written):
        yield Found(
            node,
            f"{node.label()} returns a dataset for each element, and yields the datasets themselves",
            "to yield their elements, write flat_map(function) or interleave(function)",
        )


def every_element_failed(written: Written) -> Iterator[Found]:
    """Every element of an epoch failed and was left out, due to `ignore_errors()` or `on_error="skip"`.

    A training loop then ends at once, without an error. The cause is probably one mistake rather than scattered damage:
    without the policy, the first error shows the cause. `ErrorBudget` ends a run in which too many elements fail.
    """
    forgiving = [node for node in post_order(written.plan) if isinstance(node, IgnoreErrors | Tolerant)]
    if written.failed and forgiving:
        yield Found(
            forgiving[-1],
            f"{forgiving[-1].reported_as} left out every element of the epoch, since all failed",
            "without it, the first error shows why",
        )


def _functions(plan: Node, *, of_tensors: bool = False) -> Iterator[tuple[Node, FunctionType]]:
    """Yield the operations with the plain functions of the user, and perhaps with those `of_tensors`."""
    for node in post_order(plan):
        for value in vars(node).values():
            is_wrapped = of_tensors and not isinstance(value, Node)  # an input has a function of its own
            function = getattr(value, "function", value) if is_wrapped else value
            if isinstance(function, FunctionType):
                yield node, function


def _is_dataset(node: Node, written: Written) -> bool:
    """Return whether the first element of an operation is a dataset, if a dry run has made it."""
    return hasattr(type(written.firsts.get(id(node))), "element_spec")


def _are_numbers(spec: Spec | None) -> bool:
    """Return whether elements are known to have no arrays that could be written to."""
    return spec is not None and all(not getattr(leaf, "shape", ()) for leaf in flatten(spec)[0])


def _changed_by(function: FunctionType) -> str | None:
    """Return the parameter that a function changes in place by an operator, in whole or in part."""
    code = function.__code__
    writes = _Writes()
    names = [name for name in code.co_varnames[: code.co_argcount] if name != "rng"]
    follow(code, {name: Known(object(), name) for name in names}, writes, frozenset())
    return next(iter(writes.names), None)


class _Writes:
    """A tracer of the parameters that a function changes in place by an operator."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def global_of(self, name: str) -> Known | None:
        return None

    def reaches(self, known: Known) -> None: ...

    def attribute(self, known: Known, name: str) -> Known | None:
        return None

    def parent_method(self, known: Known, name: str) -> None: ...

    def writes(self, known: Known, what: str) -> None: ...

    def writes_item(self, known: Known, *, again: bool, constant: bool) -> None:
        if again:
            self.names.append(known.name)

    def writes_name(self, name: str) -> None: ...

    def called(self, function: Known, given: list[Known | None], named: dict[str, Known]) -> Known | None:
        return None


def _drawn_by(function: FunctionType, code: CodeType) -> str | None:
    """Name the call that draws from a shared generator, in the code of the function or of one inside it."""
    value: Any = None
    path: list[str] = []
    for each in dis.get_instructions(code):
        if each.opname == "LOAD_GLOBAL":
            value, path = function.__globals__.get(each.argval), [str(each.argval)]
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(value, ModuleType):
            value, path = getattr(value, str(each.argval), None), [*path, str(each.argval)]
        elif each.opname not in ("CACHE", "PRECALL", "PUSH_NULL"):
            value = None
        if value is not None and _is_shared(value):
            return ".".join(path)
    nested = (_drawn_by(function, constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return next((found for found in nested if found is not None), None)


def _is_shared(value: Any) -> bool:
    """Return whether this is a function that draws from the generator of Python, NumPy, PyTorch or TensorFlow."""
    owner = getattr(value, "__self__", None)
    if isinstance(owner, np.random.RandomState) or owner is getattr(random.random, "__self__", random):
        return True
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", "")
    if isinstance(module, str) and module.startswith("tensorflow.python.ops."):  # not those of stateless_random_ops
        return module.endswith(".random_ops") or name.startswith("random_")
    torch = sys.modules.get("torch")
    return torch is not None and any(value is getattr(torch, name, None) for name in OF_TORCH)
