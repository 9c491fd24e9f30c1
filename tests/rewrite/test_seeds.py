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


def test_every_unseeded_operation_gets_a_different_seed():
    plan = Dataset.zip(Dataset.range(9).shuffle(), Dataset.random()).map(lambda a, b, *, rng: a).shuffle()._plan
    found = seeds(bind_seeds(plan, 1))
    assert None not in found
    assert len(set(found)) == 4
    assert found == seeds(bind_seeds(plan, 1)) != seeds(bind_seeds(plan, 2))


def test_given_seeds_stay_and_other_operations_get_none():
    plan = Dataset.range(9).shuffle(seed=5).map(abs)._plan
    assert not needs_seed(plan)
    assert bind_seeds(plan, 1) is plan


def test_appended_operations_change_no_seed():
    ds = Dataset.range(9).shuffle().map(draw)
    before = seeds(bind_seeds(ds._plan, 1))
    assert seeds(bind_seeds(ds.shuffle().batch(2)._plan, 1))[: len(before)] == before


def test_unseeded_operations_are_found_anywhere_in_the_plan():
    assert needs_seed(Dataset.zip(Dataset.range(3), Dataset.range(3).map(draw)).batch(2)._plan)


def labels(plan):
    return [node.label() for node in post_order(plan)]


def test_labels_show_the_written_seed():
    ds = Dataset.range(9).shuffle().shuffle(seed=3).map(draw)
    plan = Dataset.sample_from_datasets([ds, Dataset.random()], seed=4)._plan
    bound = bind_seeds(plan, 7)
    assert labels(bound) == labels(plan)
    assert labels(pickle.loads(pickle.dumps(bound))) == labels(plan)
    assert seeds(pickle.loads(pickle.dumps(bound))) == seeds(bound)


@pytest.mark.parametrize("seeded", [{}, {"seed": 5}])
def test_stats_show_the_written_seed(seeded):
    stream = Dataset.range(40).filter(lambda x: x % 2 == 0).shuffle(4, **seeded)
    shard = stream.shard(2, 0, streams=4).with_options(Options(ignore_lint="PS103"))
    for ds in (Dataset.range(40).shuffle(**seeded), stream, shard):
        it = ds.iterator()
        assert len(list(it)) >= 10
        shown = [operation.name for operation in it.stats().operations if operation.name.startswith("shuffle")]
        assert len(shown) == 1
        assert ("seed=5" in shown[0]) == bool(seeded)
        assert seeded or "seed=" not in shown[0]
        assert "seed=" not in str(ds.check()).replace("seed=5", "")


ONCE = {"reshuffle_each_iteration": False}


def test_an_operation_used_twice_draws_the_same():
    shuffled = Dataset.range(50).shuffle()
    assert all(a == b for a, b in Dataset.zip(shuffled, shuffled))
    assert all(a == b for a, b in Dataset.zip(shuffled.take(40), shuffled.map(int)))
    kept = shuffled.filter(lambda x: x % 3 > 0).shuffle(9)
    assert all(a == b for a, b in Dataset.zip(kept, kept))
    seeded = Dataset.zip(shuffled, shuffled).with_options(Options(seed=1))
    assert all(a == b for a, b in seeded)
    assert any(a != b for a, b in Dataset.zip(shuffled, Dataset.range(50).shuffle()))


def test_fingerprints_distinguish_one_shared_operation_from_two():
    one, seeded = Dataset.range(9).shuffle(), Dataset.range(9).shuffle(seed=1)
    twice, two = Dataset.zip(one, one), Dataset.zip(Dataset.range(9).shuffle(), Dataset.range(9).shuffle())
    assert twice.fingerprint() == Dataset.zip(one, one).fingerprint() != two.fingerprint()
    again = Dataset.range(9).shuffle(seed=1)
    assert Dataset.zip(seeded, seeded).fingerprint() == Dataset.zip(seeded, again).fingerprint()


@pytest.mark.parametrize("window", [None, 30])
def test_a_fixed_order_belongs_to_the_dataset(window):
    shuffled = Dataset.range(100).shuffle(window, **ONCE)
    train, test = shuffled.take(80), shuffled.skip(80)
    for _ in range(2):
        assert sorted([*test, *train]) == list(range(100))
    assert list(shuffled) == list(shuffled) == [shuffled[row] for row in range(100)]
    assert [*train, *test] == list(shuffled)
    assert list(shuffled) != list(Dataset.range(100).shuffle(window, **ONCE))
    parts = shuffled.split({"train": 0.8, "test": 0.2}, seed=1)
    assert sorted([*parts["train"], *parts["test"]]) == list(range(100))


def test_parts_pickled_separately_stay_disjoint():
    shuffled = Dataset.range(100).shuffle(**ONCE)
    train, test = (pickle.loads(pickle.dumps(part)) for part in (shuffled.take(80), shuffled.skip(80)))
    assert sorted([*train, *test]) == list(range(100))


def test_a_state_holds_draws_that_are_made_once():
    def parts():
        shuffled = Dataset.range(100).shuffle(**ONCE)
        return shuffled.take(80).map(draw), shuffled.skip(80).map(draw)

    train, test = parts()
    whole = [list(train), list(test)]  # test has a seed of its own, and the order that was drawn for train
    state = test.state_dict()
    assert len(state["drawn"]) == 1
    other_train, other_test = parts()
    list(other_train)
    other_test.load_state_dict({**state, "epoch": 0})
    assert [list(other_train), list(other_test)] == whole


def test_fixed_random_numbers_and_mixtures_are_the_same_everywhere():
    numbers = Dataset.random()
    assert list(numbers.take(5)) == list(numbers.take(9))[:5] == list(numbers.take(5))
    mixed = Dataset.sample_from_datasets([Dataset.range(40), Dataset.range(40)], rerandomize_each_iteration=False)
    assert [*mixed.take(30), *mixed.skip(30)] == list(mixed) == list(mixed)
