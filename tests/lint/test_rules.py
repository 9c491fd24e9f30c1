"""The table of codes, and what looking for all of them gives."""

from __future__ import annotations

import pytest

from penstock import Dataset, Options
from penstock.lint.rules import RULES, findings
from penstock.lint.written import Written

ODD = Dataset.range(20).repeat(2).batch(3).shuffle().shard(2, 0)


def codes(ds):
    return [finding.code for finding in findings(Written(ds._plan))]


def test_codes_are_sorted_and_each_is_there_once():
    listed = [rule.code for rule in RULES]
    assert listed == sorted(set(listed))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_every_rule_explains_itself(rule):
    first, *more = rule.explanation.split("\n\n")
    assert first.endswith(".")
    assert more
    assert "_" not in rule.name


def test_findings_are_in_the_order_of_the_codes():
    assert codes(ODD) == ["PS101", "PS103", "PS201"]
    assert codes(Dataset.zip(ODD, ODD)) == ["PS101", "PS103"]


def test_operations_that_read_alike_are_a_finding_each_unless_one_call_wrote_them():
    one = Dataset.range(8).batch(2).shuffle(seed=0)
    other = Dataset.range(8).batch(2).shuffle(seed=0)
    assert codes(Dataset.zip(one, other)) == ["PS101", "PS101"]
    assert codes(Dataset.zip(*(Dataset.range(8).batch(2).shuffle(seed=0) for _ in range(3)))) == ["PS101"]


def test_a_finding_names_the_operation_and_explains():
    first = findings(Written(ODD._plan))[0]
    assert first.operation == "shuffle()"
    assert str(first).startswith("PS101: shuffle() comes after batch(3)")
    assert first.explanation == RULES[0].explanation
    assert first.warns


def test_ignored_codes_are_not_reported_wherever_they_are_set():
    assert codes(ODD.with_options(Options(ignore_lint="PS103"))) == ["PS101", "PS201"]
    early = Dataset.range(9).with_options(Options(ignore_lint=("PS101", "PS201"))).batch(2).shuffle()
    assert codes(early) == []
    assert codes(ODD.with_options(Options(ignore_lint="all"))) == []
