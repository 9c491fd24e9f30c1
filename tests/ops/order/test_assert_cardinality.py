"""`assert_cardinality`: a length that only the user knows, checked."""

from __future__ import annotations

import pytest

from penstock import INFINITE, Dataset
from penstock.core.errors import DataError, PlanError
from penstock.testing.laws import verify_resume

EVEN = Dataset.range(10).filter(lambda x: x % 2 == 0)


def test_the_result_has_a_length():
    ds = EVEN.assert_cardinality(5)
    assert len(ds) == 5
    assert list(ds) == [0, 2, 4, 6, 8]
    assert len(ds.batch(2)) == 3
    verify_resume(ds)


@pytest.mark.parametrize(
    ("count", "says"), [(4, "more than 4 elements"), (6, "there are only 5 elements"), (-1, "INFINITE.*there are only")]
)
def test_fewer_and_more_elements_are_errors(count, says):
    with pytest.raises(DataError, match=says):
        list(EVEN.assert_cardinality(count))


def test_a_number_that_contradicts_the_plan_is_refused_at_once():
    assert list(Dataset.range(3).assert_cardinality(3)) == [0, 1, 2]
    assert Dataset.counter().assert_cardinality(INFINITE).cardinality() == INFINITE
    with pytest.raises(PlanError, match="this dataset has 3 elements"):
        Dataset.range(3).assert_cardinality(4)
    with pytest.raises(PlanError, match="this dataset has no end"):
        Dataset.counter().assert_cardinality(4)
    with pytest.raises(ValueError, match=r"expected_cardinality=-2"):
        EVEN.assert_cardinality(-2)
