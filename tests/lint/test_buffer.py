"""Rules for caches: findings, and similar pipelines without findings."""

from __future__ import annotations

import pytest

from penstock import Dataset
from penstock.lint.buffer import random_function_before_cache, repeat_before_cache, shuffle_before_cache
from penstock.lint.written import Written

DS = Dataset.range(20)


def found(rule, ds):
    return [found.message for found in rule(Written(ds._plan))]


def draw(x, *, rng):
    return x


@pytest.mark.parametrize(
    "ds", [DS.map(draw).cache(), DS.filter(draw).batch(2).cache().shuffle(3), Dataset.zip(DS, DS.map(draw)).cache()]
)
def test_a_random_operation_before_a_cache_is_found(ds):
    (sentence,) = found(random_function_before_cache, ds)
    assert "cache() comes after " in sentence
    assert "(draw), which is random" in sentence


@pytest.mark.parametrize("ds", [DS.map(abs).cache().map(draw), DS.shuffle().cache(), DS.map(draw)])
def test_a_random_operation_after_a_cache_is_fine(ds):
    assert found(random_function_before_cache, ds) == []


def test_of_two_caches_the_nearer_one_is_named():
    assert len(found(random_function_before_cache, DS.map(draw).cache().map(abs).cache())) == 1


@pytest.mark.parametrize("ds", [DS.shuffle().cache(), DS.shuffle(seed=1).map(abs).batch(2).cache().prefetch(2)])
def test_a_cache_after_a_shuffle_is_found(ds):
    (sentence,) = found(shuffle_before_cache, ds)
    assert "every epoch is in the order of the first; write .cache() before .shuffle(" in sentence


@pytest.mark.parametrize(
    "ds",
    [
        DS.cache().shuffle(),
        DS.shuffle().cache().map(abs).shuffle(),
        DS.shuffle(seed=1).take(5).cache(),
        DS.shuffle(seed=1, reshuffle_each_iteration=False).cache(),
    ],
)
def test_a_cache_after_a_shuffle_is_fine_if_the_order_is_fixed_or_shuffled_again(ds):
    assert found(shuffle_before_cache, ds) == []


def test_a_cache_after_a_repeat_is_found():
    (sentence,) = found(repeat_before_cache, DS.repeat(3).map(abs).cache())
    assert "keeps every element 3 times; write .cache() before .repeat(3)" in sentence


@pytest.mark.parametrize("ds", [DS.cache().repeat(3), DS.repeat(1).cache(), DS.repeat(3).map(draw).cache()])
def test_a_cache_before_a_repeat_is_fine(ds):
    assert found(repeat_before_cache, ds) == []
