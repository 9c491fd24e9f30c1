"""Plans in a notebook."""

from __future__ import annotations

import penstock as ps
from penstock.watch.notebook.plans import OPERATIONS_DRAWN, plan_html

D = ps.Dataset


def html_of(ds):
    return plan_html(ds._plan)


def test_operations_come_from_the_sources_down_with_their_elements():
    html = html_of(D.range(10).shuffle(seed=0).batch(4))
    places = [html.index(text) for text in ("range(10)", "↳ shuffle(seed=0)", "3 ×", "int64[?]")]
    assert places == sorted(places)


def test_inputs_of_operations_with_several_are_indented():
    html = html_of(D.zip(D.range(3), D.range(3).repeat()))
    assert html.count("padding-left:24px") == 3
    assert "endless" in html


def test_names_are_escaped_and_long_plans_cut():
    ds = D.from_source([{"<b>": 1}])
    for _ in range(OPERATIONS_DRAWN + 5):
        ds = ds.take(1)
    html = html_of(ds)
    assert "<b>" not in html
    assert "and 6 more operations" in html
