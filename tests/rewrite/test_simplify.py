"""Each rule is an equation: the plan on its right yields what the plan on its left does, in every epoch."""

from __future__ import annotations

import pytest

from penstock import Dataset, Options
from penstock.plan.graph import rebuild
from penstock.rewrite import simplify

X = Dataset.range(10).shuffle(seed=1)
ENDLESS = X.repeat()

EQUATIONS = [
    ("drop_run_settings", X.prefetch(3), X),
    ("drop_run_settings", X.with_options(Options(workers=2)), X),
    ("drop_full_take", X.take(10), X),
    ("drop_full_take", X.take(11), X),
    ("drop_full_take", X.take(-1), X),
    ("drop_full_take", ENDLESS.take(-1), ENDLESS),
    ("drop_full_take", X.take(9), None),
    ("drop_full_take", ENDLESS.take(9), None),
    ("drop_empty_skip", X.skip(0), X),
    ("drop_empty_skip", X.skip(1), None),
    ("drop_single_repeat", X.repeat(1), X),
    ("drop_single_repeat", X.repeat(2), None),
    ("drop_single_repeat", X.repeat(), None),
    ("drop_single_shard", X.shard(1, 0), X),
    ("drop_single_shard", X.shard(2, 0), None),
    ("merge_takes", X.take(7).take(4), X.take(4)),
    ("merge_takes", X.take(4).take(7), X.take(4)),
    ("merge_takes", X.take(4), None),
    ("merge_skips", X.skip(3).skip(4), X.skip(7)),
    ("merge_skips", X.skip(3).skip(-1), None),
    ("merge_skips", X.skip(-1).skip(3), None),
    ("merge_skips", ENDLESS.skip(3).skip(4), ENDLESS.skip(7)),
]


@pytest.mark.parametrize(("rule", "left", "right"), EQUATIONS)
def test_a_rule_turns_its_left_side_into_its_right_side(rule, left, right):
    made = getattr(simplify, rule)(left._plan)
    assert made == (None if right is None else right._plan)


@pytest.mark.filterwarnings("ignore:PS104")
@pytest.mark.parametrize(("rule", "left", "right"), [each for each in EQUATIONS if each[2] is not None])
def test_both_sides_yield_the_same_in_every_epoch(rule, left, right):
    for epoch in (0, 1, 3):
        sides = [list(ds.with_options(Options(rewrite=False)).take(30).iterator(epoch=epoch)) for ds in (left, right)]
        assert sides[0] == sides[1]


def test_a_rule_leaves_other_nodes_alone():
    plan = X.batch(2).map(len).concatenate(Dataset.range(3))._plan
    for rule in [value for name, value in vars(simplify).items() if name.startswith(("drop_", "merge_"))]:
        assert rebuild(plan, lambda node, rule=rule: rule(node) or node) is plan
