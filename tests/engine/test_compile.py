from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.engine.compile import compiled


def test_every_nodes_program_is_wrapped_inputs_first():
    seen = []

    def wrap(node, program):
        seen.append(node.name)
        return program

    program = compiled(ps.Dataset.range(10).skip(2).batch(3)._plan, np.empty, wrap)
    assert [name.partition("(")[0] for name in seen] == ["range", "skip", "batch"]
    assert [batch.tolist() for batch in program(np.array([1, 0])).elements()] == [[5, 6, 7], [2, 3, 4]]
