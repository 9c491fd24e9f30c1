"""Settings of a run from its options and from hints in the plan."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.engine.tuning.settings import settings_of

D = ps.Dataset


def settings(ds):
    return settings_of(ds._plan)


def same_element(x):
    return x


def test_by_default_the_tuner_chooses_workers_and_depth():
    found = settings(D.range(3).map(same_element).batch(2))
    assert (found.executor, found.workers, found.depth, found.ordered) == ("auto", None, None, True)
    assert found.memory_budget > 0
    assert not found.budget_is_given


def test_parallel_calls_set_the_workers():
    ds = D.range(3).map(same_element, num_parallel_calls=2).map(same_element, num_parallel_calls=5)
    assert settings(ds).workers == 5
    assert settings(ds.with_options(ps.Options(workers=3))).workers == 3
    assert settings(D.range(3).map(same_element, num_parallel_calls=ps.AUTOTUNE)).workers is None
    assert settings(D.range(3).batch(2, num_parallel_calls=4)).workers == 4


@pytest.mark.parametrize(
    ("ds", "ordered"),
    [
        (D.range(3).map(same_element, deterministic=False), False),
        (D.range(3).map(same_element, deterministic=True), True),
        (D.range(3).map(same_element, deterministic=False).with_options(ps.Options(deterministic=True)), False),
        (D.range(3).map(same_element, deterministic=True).with_options(ps.Options(deterministic=False)), True),
        (D.range(3).map(same_element).with_options(ps.Options(deterministic=False)), False),
        (D.range(3).map(same_element, deterministic=True).map(same_element, deterministic=False), False),
        (D.range(3).with_options(ps.Options(deterministic=False)), False),
        (D.range(3).batch(2, deterministic=False), False),
    ],
)
def test_items_come_in_order_unless_a_map_or_the_options_allow_another(ds, ordered):
    assert settings(ds).ordered is ordered


@pytest.mark.parametrize(
    ("ds", "depth"),
    [
        (D.range(99).prefetch(4), 4),
        (D.range(99).batch(10).prefetch(4), 4),
        (D.range(99).prefetch(40).batch(10), 4),
        (D.range(99).prefetch(4).batch(10), 1),
        (D.range(99).prefetch(), None),
        (D.range(99).prefetch(7).prefetch(3), 3),
    ],
)
def test_a_prefetch_is_the_depth_of_the_window(ds, depth):
    assert settings(ds).depth == depth


def test_a_prefetch_of_zero_runs_inline():
    ds = D.range(99).map(same_element, num_parallel_calls=4).prefetch(0)
    assert settings(ds).executor == "inline"
    with ds.iterator() as it:
        next(it)
        assert it.stats().mode == "inline"


def test_a_given_memory_budget_is_used():
    found = settings(D.from_tensors(np.zeros(3)).with_options(ps.Options(memory_budget=12345)))
    assert (found.memory_budget, found.budget_is_given) == (12345, True)
