"""The style of drawings."""

from __future__ import annotations

from penstock.watch.page.style import RULES, rules


def test_every_rule_has_one_selector_and_can_be_scoped():
    assert [rule for rule in RULES if "," in rule.partition("{")[0] or rule.count("{") != 1] == []
    assert all(line.startswith("#here ") for line in rules("#here").splitlines())
    assert rules() == "\n".join(RULES)
    assert ".c4{stroke:var(--amber)}" in RULES
