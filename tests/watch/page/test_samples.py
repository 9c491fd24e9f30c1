"""Sample elements as HTML."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.watch.page.samples import element_html


@pytest.mark.parametrize(
    ("element", "has"),
    [
        (np.zeros((32, 32, 3), np.uint8), "<img"),
        (np.zeros((32, 32, 1), np.float32), "<img"),
        (np.zeros(4000, np.float32), "waveform"),
        (np.full(4000, np.nan, np.float32), "waveform"),
        (np.zeros((2, 4000), np.int16), "waveform"),
        (b"\xff<b>", "&lt;b&gt;"),
        ("<script>", "&lt;script&gt;"),
        (np.arange(5), "[0 1 2 3 4]"),
        (np.zeros((0, 3)), "[]"),
        ({"<i>": 3}, "&lt;i&gt;"),
        (("a", [1, 2]), "<code>a</code>"),
    ],
)
def test_each_kind_of_leaf_is_shown(element, has):
    html = element_html(element)
    assert has in html
    assert "<script" not in html
    assert "<i>" not in html


def test_lists_of_plain_values_are_one_part_and_the_number_of_parts_is_bounded():
    html = element_html({"ids": [*range(1000)], "boxes": [{"x": 1}] * 50, "none": None})
    assert html.count("class=leaf") == 3
    assert "<h3>ids <small>int64[1000]</small></h3>" in html
    assert "<h3>boxes <small>list[50]</small></h3>" in html
    assert "<code>None</code>" in html
    many = element_html({f"key {at}": at for at in range(100)})
    assert many.count("class=leaf") == 40
    assert many.endswith("… and 60 more parts</p>")


def test_a_batch_shows_its_first_elements():
    html = element_html({"image": np.zeros((20, 16, 16, 3), np.uint8), "n": np.arange(20)}, rows=1)
    assert html.count("<img") == 8
    assert "<figure><code>7</code></figure>" in html


def test_ragged_leaves_show_their_lengths():
    ds = ps.Dataset.from_source([np.arange(3), np.arange(1)]).ragged_batch(2)
    assert "lengths 3, 1" in element_html(next(iter(ds)), rows=1)
