"""The frame of everything shown in a notebook."""

from __future__ import annotations

import re

import pytest

from penstock.watch.notebook.frame import NOTEBOOK_STYLE, in_frame, never_failing, told


class BrokenError(Exception):
    def __str__(self):
        raise RuntimeError("no text")


def fail(error):
    raise error


def test_every_rule_holds_only_inside():
    rules = re.findall(r"(?:^|})\s*([^{}]+){", NOTEBOOK_STYLE)
    assert len(rules) > 30
    assert [rule for rule in rules if not rule.startswith(".penstock")] == []
    assert in_frame("<p>a</p>", "<p>b</p>").endswith("</style><p>a</p><p>b</p></div>")


def test_colors_follow_the_text_of_the_notebook():
    assert "--ink:currentColor" in NOTEBOOK_STYLE
    assert "#fff" not in NOTEBOOK_STYLE
    assert "#000" not in NOTEBOOK_STYLE


def test_nothing_raises_and_all_text_is_escaped():
    shown = never_failing(lambda: fail(ValueError("<b>")), lambda: "<i>")
    assert shown == "<pre>&lt;i&gt;\n(not drawn: ValueError: &lt;b&gt;)</pre>"
    assert "KeyError" in never_failing(lambda: fail(BrokenError()), lambda: fail(KeyError("x")))


def test_an_exit_is_shown_and_an_interrupt_ends_the_display():
    shown = never_failing(lambda: fail(SystemExit(2)), lambda: fail(SystemExit()))
    assert shown == "<pre>SystemExit\n(not drawn: SystemExit: 2)</pre>"
    with pytest.raises(KeyboardInterrupt):
        never_failing(lambda: fail(KeyboardInterrupt()), str)


def test_errors_are_told_briefly():
    assert told(ValueError("x" * 1000), 10) == "ValueError: " + "x" * 10
    assert told(BrokenError()) == "BrokenError"
