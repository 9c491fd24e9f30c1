"""Drawings are well-formed, whatever the names are."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from penstock.watch.page import drawings

HOSTILE = '<script>alert("1")</script> & \' "'

DRAWN = {
    "plan": drawings.plan([(HOSTILE, 1.0, HOSTILE), ("b", 0.0, "")]),
    "timeline": drawings.timeline([(HOSTILE, "wait", [0.0, 0.5, 1.0]), ("b", "task", [])], 1.5),
    "histogram": drawings.histogram([(HOSTILE, 3), ("2 ms", 0)], HOSTILE),
    "curves": drawings.curves([0.0, 0.0], {HOSTILE: [0.0, 0.0]}, "MB", HOSTILE),
    "square": drawings.square([(0.0, 0.0), (1.0, 1.0)], HOSTILE),
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawing_is_well_formed_and_has_a_title(name):
    root = ET.fromstring(DRAWN[name])
    assert root.tag == "svg"
    assert root[0].tag == "title"
    assert not list(root.iter("script"))
    assert "nan" not in DRAWN[name]


@pytest.mark.parametrize("count", [1, 2, 6, 7, 8, 13, 14, 15, 40, 64])
def test_labels_are_apart_where_text_is_largest(count):
    root = ET.fromstring(drawings.histogram([(f"{number + 1}.23 ms", 1) for number in range(count)], "costs"))
    ends = -1.0
    for text in root.iter("text"):
        x, wide = float(text.get("x")), drawings.CHARACTER * len(text.text)
        begin = x - wide if text.get("text-anchor") == "end" else x
        assert begin >= ends
        ends = begin + wide
    assert ends <= drawings.WIDE
    legend = ET.fromstring(drawings.curves([0.0, 1.0], {"ahead": [1.0, 2.0], "batches": [1.0, 1.0]}, "MB", "memory"))
    first, key = next(legend.iter("text")), [rect for rect in legend.iter("rect") if "key" in rect.get("class")][1]
    assert float(first.get("x")) + drawings.CHARACTER * len("ahead") <= float(key.get("x"))


def test_widths_are_shares_of_the_time():
    root = ET.fromstring(drawings.plan([("a", 0.75, ""), ("b", 0.25, "")]))
    wide, narrow = [float(rect.get("width")) for rect in root.iter("rect") if rect.get("class") == "work"]
    assert (wide, narrow) == (154, 54)
