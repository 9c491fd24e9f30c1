"""Findings: the message for a likely mistake."""

from __future__ import annotations

from penstock import Dataset
from penstock.lint.finding import Finding


def finding(plan, message="shuffle() comes last"):
    return Finding("PS101", "shuffle()", message, True, "It is so.", plan)


def test_the_text_of_a_finding_is_its_code_and_message():
    assert str(finding(Dataset.range(3)._plan)) == "PS101: shuffle() comes last"


def test_findings_of_the_same_in_different_plans_are_equal():
    one, other = Dataset.range(3)._plan, Dataset.range(4)._plan
    assert finding(one) == finding(other)
    assert finding(one) != finding(one, "something else")
    assert "node" not in repr(finding(one))
