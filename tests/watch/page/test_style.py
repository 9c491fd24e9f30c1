"""The style of drawings."""

from __future__ import annotations

from penstock.watch.page.style import STYLE_RULES, rules


def test_every_rule_has_one_selector_and_can_be_scoped():
    assert [rule for rule in STYLE_RULES if "," in rule.partition("{")[0] or rule.count("{") != 1] == []
    assert all(line.startswith("#here ") for line in rules("#here").splitlines())
    assert rules() == "\n".join(STYLE_RULES)
    assert ".c4{stroke:var(--amber)}" in STYLE_RULES
