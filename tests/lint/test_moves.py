"""Moves of calls past their neighbors."""

from __future__ import annotations

from penstock import Dataset, Options
from penstock.lint.moves import MoveCall, nodes_between, unless_zipped, what_stands_between
from penstock.plan.graph import post_order

BASE = Dataset.range(9)


def noisy(x, *, rng):
    return x + rng.normal()


def ends(ds):
    return ds._plan, BASE._plan


def test_operations_between_two_are_found_on_one_path_only():
    ds = BASE.skip(1).take(3)
    assert [node.name for node in nodes_between(*ends(ds.batch(2)))] == ["take", "skip"]
    zipped = Dataset.zip(BASE, Dataset.range(3))
    assert nodes_between(*ends(zipped)) is None
    assert nodes_between(BASE._plan, ds._plan) is None
    first = next(iter(post_order(zipped._plan)))
    assert first is BASE._plan


def test_settings_never_stand_between_and_functions_only_where_they_may():
    settings = BASE.prefetch(2).with_options(Options(workers=2))
    assert not what_stands_between(*ends(settings.batch(2)))
    mapped = settings.map(abs).batch(2)
    assert what_stands_between(*ends(mapped))
    assert not what_stands_between(*ends(mapped), maps=True)
    drawing = BASE.map(noisy).batch(2)
    assert what_stands_between(*ends(drawing), maps=True)
    assert not what_stands_between(*ends(drawing), maps=True, draws=True)
    told = what_stands_between(*ends(BASE.enumerate().map(abs).batch(2)), maps=True)
    assert told == "enumerate() stands between, and would receive other elements"
    assert what_stands_between(*ends(Dataset.zip(BASE, BASE))) == "the operations are not in one chain"


def test_nothing_that_a_zip_reads_moves_alone():
    batches = BASE.batch(3)
    shuffled = batches.shuffle(seed=0)
    move = MoveCall(shuffled._plan, batches._plan, True, "the same elements")
    assert unless_zipped(move, shuffled._plan) is move
    assert unless_zipped(move, shuffled.concatenate(batches)._plan) is move
    reason = "zip(2 datasets) pairs what it reads by position, so change all of it alike, or zip first"
    assert unless_zipped(move, Dataset.zip(BASE, shuffled.map(abs)).repeat(2)._plan) == reason
    assert unless_zipped("another reason", shuffled._plan) == "another reason"
