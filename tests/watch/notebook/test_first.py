"""The first elements of a dataset in a notebook."""

from __future__ import annotations

import numpy as np

import penstock as ps
from penstock.watch.notebook.first import first_elements_html


def test_elements_are_shown_with_their_spec():
    html = first_elements_html([{"x": 1}, {"x": 2}], None, batched=False)
    assert "element <code>{&quot;x&quot;: int64}</code>" in html
    assert html.count("<figure class=card>") == 2


def test_rows_of_a_batch_are_shown():
    html = first_elements_html([{"x": np.arange(20)}], None, batched=True)
    assert "batch <code>" in html
    assert html.count("<figure class=card>") == 16


def test_labels_have_the_names_of_their_classes():
    html = first_elements_html([{"label": 1}], None, batched=False, class_names=("cat", "dog"))
    assert "<b>dog</b>" in html


def test_rows_of_different_lengths_show_them():
    batch = ps.Ragged.from_rows([np.arange(3.0), np.arange(1.0)])
    html = first_elements_html([batch], None, batched=True)
    assert "float64[3]" in html
    assert "float64[1]" in html


def test_the_reason_is_told_if_there_are_no_more():
    assert "There are none" in first_elements_html([], None, batched=False)
    assert "Making the first element raised <code>ValueError: &lt;b&gt;" in first_elements_html(
        [], ValueError("<b>"), batched=False
    )
    assert "Making element 1 raised" in first_elements_html([0], ValueError("x"), batched=False)
    assert "None could be made within 3 s" in first_elements_html([], None, batched=False, patience=3.0)
    assert "No more could be made within 3 s" in first_elements_html([0], None, batched=False, patience=3.0)
