"""Contact sheets as values: in a notebook, as text, on a page."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.watch.sheet.contact_sheet import page_of, spec_text

HOSTILE = "</title><script>document.title = 'broken'</script>"


def test_a_sheet_is_saved_as_a_page(tmp_path):
    sheet = ps.show({"x": np.arange(3)})
    path = tmp_path / "sheet.html"
    sheet.save(path)
    page = path.read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert sheet.html in page
    assert "color-scheme:light dark" in page
    assert repr(sheet) == str(sheet) == sheet.text
    assert sheet._repr_html_() == sheet.html


def test_a_sheet_is_not_saved_as_anything_else(tmp_path):
    with pytest.raises(ValueError, match=r"save\(path='.*sheet.png'\): a contact sheet is written as a page"):
        ps.show([1]).save(tmp_path / "sheet.png")


def test_text_from_data_is_escaped():
    sheet = ps.show([{HOSTILE: HOSTILE}])
    assert "<script" not in sheet.html
    assert "<script" not in page_of(HOSTILE, "")
    assert HOSTILE in sheet.text


def test_nothing_is_shown_of_nothing():
    assert ps.show([]).text == "0 of 0 elements"
    assert "<figure" not in ps.show([]).html


def test_specs_of_odd_elements():
    class Odd:
        def __array__(self, dtype=None, copy=None):
            raise OSError("gone")

    assert spec_text({"x": 1}) == '{"x": int64}'
    assert spec_text(Odd()) == "Odd"
