"""A description as text and as HTML."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.dataset.describing.tables import description_html, description_text, number_text

D = ps.Dataset


def test_only_columns_with_something_in_them_are_shown():
    assert repr(D.range(3).describe()) == (
        "3 elements\n"
        "leaf     spec   missing  min  mean  max     std  classes\n"
        "element  int64        0    0     1    2  0.8165        3"
    )
    assert "infinite" in description_text(D.from_tensor_slices(np.array([1.0, np.inf])).describe())


def test_empty_datasets_are_shown():
    assert description_text(D.range(0).describe()) == "0 elements"
    assert "0 elements" in description_html(D.range(0).describe())


def test_classes_that_are_all_different_are_counted_only():
    text = description_text(D.range(100).describe())
    assert text.splitlines()[-1].endswith(" 100")


def test_many_classes_are_cut():
    found = D.range(100).map(lambda x: x % 30).describe()
    assert description_text(found).endswith("and 18 more")
    assert "and 18 more" in description_html(found)
    assert description_html(found).count('class="share ') == 12


def test_too_many_are_told():
    assert "over 1,000" in description_text(D.range(2000).describe())


def test_items_come_after_their_list():
    lines = description_text(D.from_source([{"b": [], "c": 1}, {"b": [3], "c": 2}]).describe()).splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["leaf", "b", "b[*]", "c"]


def test_html_from_data_is_escaped():
    hostile = "<script>alert(1)</script>"
    html = description_html(D.from_source([{hostile: hostile, "x": 1}] * 2).describe())
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 2


def test_small_shares_and_long_lengths_keep_their_digits():
    found = D.from_source([{"ids": [*range(500)], "text": "x" * at} for at in (3, 100_000)]).describe()
    assert "ids[*]: 0 (2, 0.2 %), 1 (2, 0.2 %)" in repr(found)
    assert "3…100,000, mean 50,001.5" in repr(found)
    assert "100% (2, 67 %)" in repr(D.from_source(["100%", "100%", "0"]).describe())


def test_classes_without_printable_text_are_quoted():
    text = description_text(D.from_source(["", "a\nb", ""]).describe())
    assert "'' (2, 67 %), 'a\\nb' (1, 33 %)" in text


def test_numbers_are_short():
    assert [number_text(each) for each in (1e-9, 1234567.5, 10**13, 12345, -0.5, float("nan"), float("inf"))] == [
        "1e-09", "1.235e+06", "1e+13", "12,345", "-0.5", "nan", "inf",
    ]  # fmt: skip


def test_labels_have_the_class_names_of_the_dataset(tmp_path):
    for name, count in (("cat", 3), ("dog", 1)):
        (tmp_path / name).mkdir()
        for number in range(count):
            (tmp_path / name / f"{number}.jpg").write_bytes(b"none")
    found = ps.read_image_folder(tmp_path).describe()
    assert found.class_names == ("cat", "dog")
    assert description_text(found).endswith("label: cat [0] (3, 75 %), dog [1] (1, 25 %)")
    assert "cat [0]" in description_html(found)
    others = ps.read_image_folder(tmp_path).map(lambda x: {**x, "label": x["label"] + 7}).describe()
    assert description_text(others).endswith("label: 7 (3, 75 %), 8 (1, 25 %)")
