"""The traversals of plans."""

from __future__ import annotations

import numpy as np

from penstock import Dataset, Options
from penstock.image import center_crop
from penstock.ops.order.skip import Skip
from penstock.ops.order.take import Take
from penstock.plan.graph import end_of, fold, post_order, rebuild, rows_through, same_plan, with_inputs
from penstock.rewrite.passes import rewritten


def plan():
    one, other = Dataset.range(3).skip(1), Dataset.range(5)
    return Dataset.zip({"b": one, "a": other}).take(2)._plan


def test_inputs_come_before_their_readers():
    # the inputs of a zip are its leaves, in the order of the sorted keys
    assert [node.name for node in post_order(plan())] == ["range(5)", "range(3)", "skip", "zip", "take"]


def test_a_fold_computes_each_value_from_those_of_the_inputs():
    assert fold(plan(), lambda node, inputs: 1 + sum(inputs)) == 5


def test_rebuilding_without_a_change_gives_the_same_plan():
    whole = plan()
    assert rebuild(whole, lambda node: node) is whole


def test_rebuilding_changes_nodes_wherever_they_are():
    changed = rebuild(plan(), lambda node: Skip(node.input, 2) if isinstance(node, Skip) else node)
    assert [node.label() for node in post_order(changed)][2] == "skip(2)"
    assert changed.length == 1


def test_a_node_over_other_inputs_keeps_its_arguments():
    node = with_inputs(Take(Dataset.range(9)._plan, 4), (Dataset.range(2)._plan,))
    assert (node.count, node.length) == (4, 2)


def test_plans_with_identical_objects_are_the_same():
    five = Dataset.range(5)

    def plan(function, source=five):
        return source.map(function).batch(2)._plan

    assert same_plan(plan(len), plan(len))
    assert same_plan(rebuild(plan(len), lambda node: node), plan(len))
    assert not same_plan(plan(len), plan(abs))
    assert not same_plan(plan(len), plan(len, Dataset.range(5)))
    assert not same_plan(plan(len), plan(len).input)
    assert not same_plan(plan(len).input, plan(len))
    assert same_plan(plan(center_crop(8)), plan(center_crop(8)))
    assert not same_plan(plan(center_crop(8)), plan(center_crop(9)))
    assert same_plan(rewritten(plan(abs)).plan, rewritten(plan(abs)).plan)
    assert not same_plan(rewritten(plan(abs)).plan, rewritten(plan(float)).plan)
    pair = Dataset.range(2), Dataset.range(3)
    assert same_plan(Dataset.zip(pair)._plan.members[0], pair[0]._plan)


def test_plans_with_the_same_drawn_seeds_are_the_same():
    ds = Dataset.range(9).map(lambda x, *, rng: x).shuffle()
    plans = []
    for _ in range(3):
        with ds.iterator() as it:
            list(it)
            plans.append(it._run.plan)
    assert same_plan(*plans[:2])
    assert same_plan(*plans[1:])
    other = ds.with_options(Options(seed=4)).iterator()
    list(other)
    assert not same_plan(other._run.plan, plans[0])


def test_rows_are_moved_through_all_nodes_at_the_end_of_a_plan():
    ds = Dataset.range(20).map(abs).skip(3).take(9).shard(2, 1)
    moves, below = end_of(ds._plan)
    assert [node.name for node in [*moves, below]] == ["shard", "take", "skip", "map"]
    assert rows_through(np.arange(4), moves).tolist() == [int(ds[row]) for row in range(4)]


def test_a_plan_that_ends_in_other_work_is_its_own_end():
    plan = Dataset.range(3).skip(1).map(abs)._plan
    assert end_of(plan) == ([], plan)
