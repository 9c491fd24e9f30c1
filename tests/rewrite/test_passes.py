"""Passes apply their rules until nothing changes."""

from __future__ import annotations

from penstock import Dataset, Options
from penstock.rewrite.passes import PASSES, PLAIN, SHORT, passes_within, rewritten


def test_rules_are_applied_until_nothing_changes_and_are_named():
    ds = Dataset.range(100).skip(1).skip(2).skip(0).skip(3).take(50).take(20).prefetch(2).repeat(1)
    made = rewritten(ds._plan)
    assert made.plan == Dataset.range(100).skip(6).take(20)._plan
    assert set(made.applied) == {
        "merge_skips",
        "drop_empty_skip",
        "merge_takes",
        "drop_run_settings",
        "drop_single_repeat",
    }


def test_a_second_rewrite_changes_nothing():
    once = rewritten(Dataset.range(9).skip(0).take(3).take(5).batch(2).prefetch(1)._plan)
    again = rewritten(once.plan)
    assert again.plan == once.plan
    assert again.applied == ()


def test_every_input_is_rewritten():
    ds = Dataset.zip(Dataset.range(9).skip(0), Dataset.range(5).take(9)).concatenate(
        Dataset.zip(Dataset.range(2), Dataset.range(2))
    )
    made = rewritten(ds._plan).plan
    assert [node.name for node in made.first.inputs] == ["range(9)", "range(5)"]


def test_without_rewrites_settings_are_dropped():
    plan = Dataset.range(9).skip(0).prefetch(2)._plan
    assert rewritten(plan, PLAIN).plan == Dataset.range(9).skip(0)._plan


def test_the_optimized_plan_yields_the_same_as_the_plain_one():
    ds = Dataset.range(50).shuffle(seed=0).skip(3).skip(4).take(30).take(20).shard(1, 0).repeat(1).batch(6)
    plain = ds.with_options(Options(rewrite=False))
    for epoch in (0, 2):
        assert [b.tolist() for b in ds.iterator(epoch=epoch)] == [b.tolist() for b in plain.iterator(epoch=epoch)]


def test_passes_are_lists_of_rules():
    assert all(callable(rule.found()) for rules in PASSES for rule in rules)


def test_functions_of_short_datasets_within_others_are_not_traced():
    for count, rules in ((SHORT - 1, ()), (SHORT, ("trace_map",))):
        plan = Dataset.range(3).concatenate(Dataset.range(count)).map(lambda x: x + 1)._plan
        assert rewritten(plan, passes_within(plan)).applied == rules
    endless = Dataset.counter().map(lambda x: x + 1).take(3)._plan
    assert rewritten(endless, passes_within(endless)).applied == ("trace_map",)
