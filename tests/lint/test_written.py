"""The view of a pipeline that rules inspect."""

from __future__ import annotations

from penstock import Dataset, Options
from penstock.lint.written import Rule, Written


def two_in_a_row(written):
    """Say it.

    Once more.
    """
    yield written.plan, "it"


def test_a_rule_is_named_and_explained_by_its_function():
    rule = Rule("PS999", lambda: two_in_a_row)
    assert (rule.name, rule.explanation, rule.warns) == ("two in a row", "Say it.\n\nOnce more.", True)


def test_options_are_those_of_the_whole_plan():
    ds = Dataset.range(3).with_options(Options(seed=1)).with_options(Options(ignore_lint="PS101"))
    assert Written(ds._plan).options == Options(seed=1, ignore_lint="PS101")
