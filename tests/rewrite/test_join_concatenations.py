from __future__ import annotations

from penstock import Dataset
from penstock.ops.combine.end_to_end import EndToEnd
from penstock.rewrite.join_concatenations import join_concatenations


def joined(ds):
    applied = []
    return join_concatenations(ds._plan, applied), applied


def test_inputs_put_end_to_end_one_by_one_become_one_node():
    ds = Dataset.range(1)
    for size in range(2, 5):
        ds = ds.concatenate(Dataset.range(size))
    plan, applied = joined(ds.batch(2))
    assert isinstance(plan.input, EndToEnd)
    assert [member.length for member in plan.input.members] == [1, 2, 3, 4]
    assert applied == ["join_concatenations"] * 2


def test_two_inputs_and_endless_inputs_are_unchanged():
    two = Dataset.range(1).concatenate(Dataset.range(2))
    assert joined(two)[0] is two._plan
    endless = Dataset.range(1).concatenate(Dataset.range(2).repeat()).concatenate(Dataset.range(3))
    assert joined(endless)[0] is endless._plan
