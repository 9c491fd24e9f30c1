"""Common attributes of all nodes."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import INFINITE, Dataset
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
