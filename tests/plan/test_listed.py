from __future__ import annotations

import pickle

from penstock import Dataset
from penstock.plan.graph import post_order, same_plan
from penstock.plan.listed import assembled, listed


def test_a_plan_is_rebuilt_from_its_list():
    one = Dataset.range(9).map(abs)
    plan = Dataset.zip((one, {"b": one.skip(1)})).batch(2)._plan
    nodes = listed(plan)
    assert len(nodes) == 5
    again = assembled(nodes)
    assert same_plan(plan, again)
    assert again == plan
    assert [type(node) for node in post_order(pickle.loads(pickle.dumps(plan)))] == list(map(type, post_order(plan)))
