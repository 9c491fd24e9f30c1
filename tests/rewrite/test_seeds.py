"""Seeds for what has none, from the run's."""

from __future__ import annotations

import pickle

import pytest

from penstock import Dataset, Options
from penstock.plan.graph import post_order
from penstock.rewrite.seeds import bind_seeds, needs_seed


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


def labels(plan):
    return [node.label() for node in post_order(plan)]


def test_what_is_shown_is_what_was_written():
    ds = Dataset.range(9).shuffle().shuffle(seed=3).map(draw)
    plan = Dataset.sample_from_datasets([ds, Dataset.random()], seed=4)._plan
    bound = bind_seeds(plan, 7)
    assert labels(bound) == labels(plan)
    assert labels(pickle.loads(pickle.dumps(bound))) == labels(plan)
    assert seeds(pickle.loads(pickle.dumps(bound))) == seeds(bound)


@pytest.mark.parametrize("seeded", [{}, {"seed": 5}])
def test_the_stats_show_what_was_written(seeded):
    stream = Dataset.range(40).filter(lambda x: x % 2 == 0).shuffle(4, **seeded)
    shard = stream.shard(2, 0, streams=4).with_options(Options(ignore="PS103"))
    for ds in (Dataset.range(40).shuffle(**seeded), stream, shard):
        it = ds.iterator()
        assert len(list(it)) >= 10
        shown = [operation.name for operation in it.stats().operations if operation.name.startswith("shuffle")]
        assert len(shown) == 1
        assert ("seed=5" in shown[0]) == bool(seeded)
        assert seeded or "seed=" not in shown[0]
        assert "seed=" not in str(ds.check()).replace("seed=5", "")
