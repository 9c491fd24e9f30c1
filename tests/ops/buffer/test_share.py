"""The node of `share`: the plan is the one without it."""

import pickle

import numpy as np
import pytest

import penstock as ps
from penstock.core.pickling import dumps
from penstock.elements.chunks.chunk import Items
from penstock.ops.buffer.share import SharedElements
from penstock.plan.graph import blocks_of, post_order

D = ps.Dataset


class Here:
    """Elements that are said to be prepared elsewhere."""

    name = "x"

    def __init__(self, plan):
        self.plan = self.run = plan

    def rows(self, rows):
        return Items([int(row) for row in rows])


def test_a_shared_dataset_is_the_same_to_all_who_look_at_it():
    ds = D.range(12).shuffle(seed=1).map(lambda x: x + 1)
    shared = ds.share("x")
    assert (len(shared), shared.fingerprint(), shared[5]) == (len(ds), ds.fingerprint(), ds[5])
    assert shared.batch(4).element_spec == ds.batch(4).element_spec
    assert [record.name for record in shared.locate(3)] == [record.name for record in ds.locate(3)]
    assert pickle.loads(dumps(shared)).fingerprint() == ds.fingerprint()
    assert repr(shared).endswith("share('x')>")


def test_shared_elements_have_the_rows_of_their_plan():
    plan = D.range(12).repeat(3)._plan
    node = SharedElements(Here(plan))
    assert (node.length, node.stride, node.indexed, node.inputs) == (36, 36, True, ())
    assert (node.epochs, node.spec(), blocks_of(node)) == (plan.epochs, plan.spec(), blocks_of(plan))
    assert node.program((), np.empty)(np.array([3, 1])).elements() == [3, 1]
    assert [each.label() for each in post_order(node)] == ["share('x')"]


@pytest.mark.parametrize(("name", "error"), [(3, TypeError), (None, TypeError), ("", ValueError)])
def test_the_name_is_a_text(name, error):
    ds = D.range(3)
    with pytest.raises(error, match=r"share\(name="):
        ds.share(name)
