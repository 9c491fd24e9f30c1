"""Lists of elements that show themselves."""

from __future__ import annotations

import pickle

import numpy as np

from penstock.watch.sheet.head import Head


def test_a_head_is_a_list():
    head = Head([{"x": 1}, {"x": 2}])
    assert head == [{"x": 1}, {"x": 2}]
    assert head[1:] == [{"x": 2}]
    assert pickle.loads(pickle.dumps(head)) == head


def test_scalars_are_shown_as_a_list_and_others_by_line():
    assert repr(Head([1, 2])) == "[1, 2]"
    assert repr(Head([])) == "[]"
    assert repr(Head(["x" * 9999, "b"])) == f"2 elements of str\n0: {'x' * 40}…\n1: b"
    assert repr(Head(["a", None])) == "2 elements of str\n0: a\n1: None"
    assert repr(Head([{"x": 1}])) == '1 element of {"x": int64}\n0: x 1'
    batches = Head([np.arange(2), np.arange(2)])
    batches.batched = True
    assert repr(batches) == "2 batches of int64[2]\n0: [0 1]\n1: [0 1]"


def test_the_rows_of_batches_are_side_by_side():
    head = Head([{"x": np.arange(3)}])
    assert head._repr_html_().count("<figure class=card>") == 1
    head.batched = True
    assert head._repr_html_().count("<figure class=card>") == 3


def test_a_display_never_raises():
    class Broken:
        def __repr__(self):
            raise ValueError("x")

    assert repr(Head([Broken()])) == "1 element of Broken\n0: <Broken>"
    assert "figure" in Head([Broken()])._repr_html_()
    assert "figure" in Head([{"x": Broken()}, {"x": b"\xff\xd8\xff"}])._repr_html_()
