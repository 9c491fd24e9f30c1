"""From a driver's values to columns."""

from __future__ import annotations

import datetime as dt
import decimal

import numpy as np
import pytest

from penstock.core.errors import DataError, PlanError
from penstock.sources.sql.values import spec_of_values, values_of

UTC = dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone(dt.timedelta(hours=2)))
MIDNIGHT = dt.datetime.fromisoformat("2024-01-01")


@pytest.mark.parametrize(
    ("values", "shown", "made"),
    [
        ([1, 2], "int64", [1, 2]),
        ([1, 2.5], "float64", [1, 2.5]),
        ([decimal.Decimal("1.5")], "float64", [1.5]),
        ([True, False], "bool", [True, False]),
        (["a", "é"], "str", ["a", "é"]),
        ([b"a", memoryview(b"b")], "bytes", [b"a", b"b"]),
        ([dt.date(2024, 1, 1)], "datetime64[D]", [dt.date(2024, 1, 1)]),
        ([UTC, MIDNIGHT], "datetime64[us]", [MIDNIGHT + dt.timedelta(hours=10), MIDNIGHT]),
    ],
)
def test_values_become_columns(values, shown, made):
    spec = spec_of_values([None, *values], "x")
    assert repr(spec) == shown
    column = values_of(values, spec, {}, "x", "x", 0)
    assert (column.tolist() if isinstance(column, np.ndarray) else column.take(np.arange(len(column)))) == made


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([None, None], "only NULL"),
        (["a", b"b"], "text and bytes"),
        ([1, "a"], "values of type int, str"),
        ([True, 1], "values of type bool, int"),
        ([{}], "values of type dict"),
    ],
)
def test_values_that_form_no_column_are_refused(values, reason):
    with pytest.raises(PlanError, match=f"x has .*{reason}.*CAST"):
        spec_of_values(values, "x")


@pytest.mark.parametrize(
    ("first", "other"),
    [(1, 1.5), (1, 1 << 63), (1, True), ("a", b"b"), ("a", 3), (1.5, "a"), (dt.date(2024, 1, 1), UTC)],
)
def test_a_later_value_of_another_type_is_named_with_its_row(first, other):
    spec = spec_of_values([first], "x")
    with pytest.raises(DataError, match=r"x has .* in row 102, and its first rows are"):
        values_of([first, first, other], spec, {}, "x", "x", 100)


def test_whole_numbers_among_floats_become_floats():
    assert values_of([1.5, 2], spec_of_values([1.5], "x"), {}, "x", "x", 0).tolist() == [1.5, 2.0]
    assert values_of([None, 2.0], spec_of_values([1.5], "x"), {"x": 0.0}, "x", "x", 0).tolist() == [0, 2]
