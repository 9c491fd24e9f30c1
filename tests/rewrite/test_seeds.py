"""Seeds for what has none, from the run's."""

from __future__ import annotations

from penstock import Dataset
from penstock.plan.graph import post_order
from penstock.rewrite.seeds import bind_seeds, needs_seed, without_drawn_seeds


def draw(x, *, rng):
    return x


def seeds(plan):
    return [node.seed for node in post_order(plan) if hasattr(node, "seed")]


def test_every_unseeded_operation_gets_a_seed_of_its_own():
    plan = Dataset.zip(Dataset.range(9).shuffle(), Dataset.random()).map(lambda a, b, *, rng: a).shuffle()._plan
    found = seeds(bind_seeds(plan, 1))
    assert None not in found
    assert len(set(found)) == 4
    assert found == seeds(bind_seeds(plan, 1)) != seeds(bind_seeds(plan, 2))


def test_a_seed_that_was_given_stays_and_what_does_not_draw_gets_none():
    plan = Dataset.range(9).shuffle(seed=5).map(abs)._plan
    assert not needs_seed(plan)
    assert bind_seeds(plan, 1) is plan


def test_what_is_added_after_changes_no_seed_before():
    ds = Dataset.range(9).shuffle().map(draw)
    before = seeds(bind_seeds(ds._plan, 1))
    assert seeds(bind_seeds(ds.shuffle().batch(2)._plan, 1))[: len(before)] == before


def test_needs_are_seen_anywhere_in_the_plan():
    assert needs_seed(Dataset.zip(Dataset.range(3), Dataset.range(3).map(draw)).batch(2)._plan)


def test_for_showing_drawn_seeds_are_taken_out_again():
    plan = Dataset.range(9).shuffle().shuffle(seed=3).map(draw)._plan
    assert without_drawn_seeds(bind_seeds(plan, 7), plan) == plan
