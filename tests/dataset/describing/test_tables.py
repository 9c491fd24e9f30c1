"""A description as text and as HTML."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.dataset.describing.tables import html_of, number_text, text_of

D = ps.Dataset


def test_only_columns_with_something_in_them_are_shown():
    assert repr(D.range(3).describe()) == (
        "3 elements\n"
        "leaf     spec   missing  min  mean  max  std     classes\n"
        "element  int64  0        0    1     2    0.8165  3\n"
        "element: 0 (1, 33 %), 1 (1, 33 %), 2 (1, 33 %)"
    )
    assert "infinite" in text_of(D.from_tensor_slices(np.array([1.0, np.inf])).describe())


def test_empty_datasets_are_shown():
    assert text_of(D.range(0).describe()) == "0 elements"
    assert "0 elements" in html_of(D.range(0).describe())


def test_classes_that_are_all_different_are_counted_only():
    text = text_of(D.range(100).describe())
    assert text.splitlines()[-1].endswith(" 100")


def test_many_classes_are_cut():
    found = D.range(100).map(lambda x: x % 30).describe()
    assert text_of(found).endswith("and 18 more")
    assert "and 18 more" in html_of(found)
    assert html_of(found).count('class="share ') == 12


def test_too_many_are_told():
    assert "over 1,000" in text_of(D.range(2000).describe())


def test_items_come_after_their_list():
    lines = text_of(D.from_source([{"b": [], "c": 1}, {"b": [3], "c": 2}]).describe()).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["leaf", "b", "b[*]", "c"]


def test_html_from_data_is_escaped():
    hostile = "<script>alert(1)</script>"
    html = html_of(D.from_source([{hostile: hostile, "x": 1}, {hostile: hostile, "x": 2}]).describe())
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 2


def test_classes_without_printable_text_are_quoted():
    text = text_of(D.from_source(["", "a\nb"]).describe())
    assert "'' (1, 50 %), 'a\\nb' (1, 50 %)" in text


def test_numbers_are_short():
    assert [number_text(each) for each in (1e-9, 1234567.5, 10**13, 12345, -0.5, float("nan"), float("inf"))] == [
        "1e-09", "1.235e+06", "1e+13", "12,345", "-0.5", "nan", "inf",
    ]  # fmt: skip
