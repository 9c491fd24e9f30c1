from __future__ import annotations

import numpy as np
import pytest
from penstock.engine.compile import compiled, compiled_with_single
from penstock.engine.observer import Unobserved

import penstock as ps


def test_every_nodes_program_is_wrapped_inputs_first():
    seen = []

    class Seeing(Unobserved):
        def wrap(self, node, program):
            seen.append(node.name)
            return program

        def wrap_step(self, node, step):
            seen.append(node.name)
            return step

    program = compiled(ps.Dataset.range(10).skip(2).batch(3)._plan, np.empty, Seeing())
    assert [name.partition("(")[0] for name in seen] == ["range", "skip", "batch"]
    assert [batch.tolist() for batch in program(np.array([1, 0])).elements()] == [[5, 6, 7], [2, 3, 4]]


def single_of(ds):
    return compiled_with_single(ds._plan, np.empty, Unobserved())[1]


def test_one_row_is_made_alone_where_every_node_can():
    ds = ps.Dataset.range(5).skip(2).map(lambda x: 10 * x)
    assert [single_of(ds)(row) for row in (0, 2, 3, 5)] == [20, 40, 20, 40]
    assert single_of(ds.batch(2)) is None
    assert single_of(ps.Dataset.zip(ds, ds).map(lambda x, y: x)) is None


@pytest.mark.parametrize("ds", [ps.Dataset.range(5), ps.Dataset.from_source([1, 2])])
def test_a_negative_row_is_refused_alone_too(ds):
    with pytest.raises(ValueError, match="row -1 is negative"):
        single_of(ds)(-1)
