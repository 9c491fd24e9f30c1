"""Counts of a pass in a notebook."""

from __future__ import annotations

import re
from dataclasses import replace

from penstock.watch.notebook.counts import BAR_PIXELS, share_bar, stats_html
from tests.watch.test_verdict import operation, stats

HOSTILE = "<script>alert(1)</script>"


def test_every_operation_has_a_bar_of_its_share():
    html = stats_html(stats(operations=(operation("read", 1.0), operation("decode", 3.0))), "title", "verdict")
    assert re.findall(r'share " style="width:(\d+)px', html) == [str(BAR_PIXELS // 4), str(3 * BAR_PIXELS // 4)]
    assert "<b>title</b>" in html
    assert "<p class=verdict>verdict</p>" in html
    assert "waited" in html


def test_names_from_data_are_escaped():
    shown = replace(stats(operations=(operation(HOSTILE, 1.0),)), notes=(HOSTILE,), growing=(HOSTILE,))
    html = stats_html(shown, HOSTILE, HOSTILE)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 5


def test_a_pass_that_has_not_begun_is_shown():
    html = stats_html(stats(operations=(), items=0, waited=0.0, stepped=0.0))
    assert "waited" not in html
    assert "<table" not in html


def test_bars_stay_within_their_place():
    assert share_bar(0.0) == '<span class="share " style="width:1px"></span>'
    assert share_bar(7.0, "wait") == f'<span class="share wait" style="width:{BAR_PIXELS}px"></span>'
