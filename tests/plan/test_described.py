"""A node whose spec was found by running it."""

from __future__ import annotations

import numpy as np

from penstock import Dataset
from penstock.elements.spec import ArraySpec
from penstock.plan.described import Described


def test_the_node_has_the_spec_and_otherwise_equals_its_input():
    spec = ArraySpec((), np.dtype(np.float64))
    node = Described(Dataset.range(4).map(float)._plan, spec)
    assert (node.spec(), node.length) == (spec, 4)
    assert node.route(np.array([2]))[0].tolist() == [2]
