"""A form tells where the arrays of a row lie, and comes back from its text."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from penstock.cache.forms import LARGE, WHOLE_FORM, RowForm, aligned, nesting_text, row_alignment
from penstock.cache.leaves import leaf_form
from penstock.elements.nested.structure import flatten, unflatten
from tests.cache.kinds import ELEMENTS, Point, exactly


def form_for(element) -> RowForm:
    leaves, structure = flatten(element)
    return RowForm(nesting_text(structure), tuple(map(leaf_form, leaves)))


@given(element=ELEMENTS)
def test_a_form_comes_back_from_its_text(element):
    form = form_for(element)
    again = RowForm.parsed(form.text)
    assert again == form
    leaves, structure = flatten(element)
    assert again.structure == structure
    assert exactly(unflatten(again.structure, leaves)) == exactly(element)


@given(element=ELEMENTS)
def test_arrays_are_aligned_and_do_not_overlap(element):
    form = form_for(element)
    sizes = [3] * form.unknown
    shapes = form.shapes(sizes)
    starts, length = form.layout(shapes)
    end = 8 * form.unknown
    for part, shape, start in zip(form.parts, shapes, starts, strict=True):
        assert start >= end
        assert start % part.known.alignment == 0
        end = start + part.bytes_of(shape)
    assert end == length


def test_large_arrays_and_rows_begin_at_multiples_of_64():
    form = form_for((1, np.zeros(LARGE, np.uint8)))
    starts, length = form.layout([(), (LARGE,)])
    assert starts[1] % 64 == 0
    assert row_alignment(length) == 64
    assert row_alignment(10) == 16
    assert [aligned(at, 16) for at in (0, 1, 16, 17)] == [0, 16, 16, 32]


def test_which_forms_run_code():
    assert form_for({"a": [1, "x", None]}).is_plain
    assert not form_for(Point(1, 2)).is_plain
    assert not form_for({"a": {3}}).is_plain
    assert not WHOLE_FORM.is_plain
    assert WHOLE_FORM.is_whole


def test_rows_of_known_shapes_all_have_one_length():
    assert form_for({"x": np.float32(1), "y": 2}).fixed == ([0, 8], 16)
    assert form_for({"x": "text"}).fixed is None
    assert form_for({}).fixed == ([], 0)
