"""Outlines of operations that another process measures."""

from __future__ import annotations

import pickle

from penstock import Dataset
from penstock.watch.outlines import NodeOutline


def test_an_outline_tells_of_its_node_and_travels_without_it():
    node = Dataset.range(3).filter(lambda x: x > 0)._plan
    outline = pickle.loads(pickle.dumps(NodeOutline.of(node)))
    assert (outline.label(), outline.traits, outline.internal) == (node.label(), node.traits, node.internal)
    assert not outline.reads
    assert NodeOutline.of(node.inputs[0]).reads


def test_the_outline_of_an_outline_is_the_same():
    outline = NodeOutline.of(Dataset.range(3)._plan)
    assert NodeOutline.of(outline) is outline
