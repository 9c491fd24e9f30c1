"""Common attributes of all nodes."""

from __future__ import annotations

import importlib
import pkgutil

import numpy as np
import pytest

from penstock import INFINITE, Dataset, ops
from penstock.plan.node import Node
from penstock.plan.types import INFINITE_STRIDE


def test_an_endless_node_counts_2_to_the_48_rows_per_epoch():
    node = Dataset.counter()._plan
    assert (node.length, node.stride) == (INFINITE, INFINITE_STRIDE)
    assert Dataset.range(3)._plan.stride == 3


def test_equal_nodes_compare_equal():
    node = Dataset.range(3).take(2)._plan
    with pytest.raises(AttributeError):
        node.count = 5
    source = Dataset.range(3)._plan
    assert type(node)(source, 2) == type(node)(source, 2) != type(node)(source, 1)


def test_moved_rows_are_routed_to_their_rows_of_the_input():
    node = Dataset.range(10).skip(3)._plan
    assert [rows.tolist() for rows in node.route(np.array([0, 6, 7]))] == [[3, 9, 13]]


@pytest.mark.parametrize(
    "ask", [lambda node: node.length, lambda node: node.spec(), lambda node: node.program((), None)]
)
def test_a_bare_node_has_no_facts(ask):
    with pytest.raises(NotImplementedError):
        ask(Node())


def all_kinds(kind=Node):
    for below in kind.__subclasses__():
        yield below
        yield from all_kinds(below)


def test_a_node_has_a_program_or_a_step_of_one():
    for module in pkgutil.walk_packages(ops.__path__, "penstock.ops."):
        importlib.import_module(module.name)
    kinds = {kind for kind in all_kinds() if kind.__module__.startswith("penstock.")}
    with_program = {kind for kind in kinds if kind.program is not Node.program}
    with_step = {kind for kind in kinds if kind.as_step is not Node.as_step}
    assert with_program
    assert with_step
    assert with_program & with_step == set()
