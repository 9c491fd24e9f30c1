from __future__ import annotations

from penstock import Dataset
from penstock.plan.derived import LEVELS


def test_values_of_deep_plans_are_found_from_far_below():
    ds = Dataset.range(10)
    for _ in range(40 * LEVELS):
        ds = ds.take(10)
    assert ds.cardinality() == 10
    assert ds._plan.indexed
    assert ds._plan.epochs > 1
    assert str(ds._plan.spec()) == "int64"


def test_values_that_are_not_needed_are_not_computed():
    plan = Dataset.range(10).filter(bool).map(str)._plan
    assert not plan.indexed
    assert "length" not in vars(plan.input.input)
