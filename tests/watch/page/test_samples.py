"""Single values as HTML."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.watch.page.samples import value_html


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
        (["<i>", 3], "[&#x27;&lt;i&gt;&#x27;, 3]"),
        ([0] * 10**6, "0, 0, …</code>"),
    ],
)
def test_each_kind_of_leaf_is_shown(element, has):
    html = value_html(element)
    assert has in html
    assert "<script" not in html
    assert "<i>" not in html
