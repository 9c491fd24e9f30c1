"""Properties of a value known before it is computed."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.elements.spec import ArraySpec, ObjectSpec
from penstock.tracing.forms import OBJECT, Kind, ValueForm, form_of_leaf, form_of_value, is_python_number, limits


@pytest.mark.parametrize(
    ("leaf", "kind"),
    [
        (ArraySpec((), np.dtype("i8")), Kind.PYTHON),
        (ArraySpec((), np.dtype("f8")), Kind.PYTHON),
        (ArraySpec((), np.dtype("?")), Kind.PYTHON),
        (ArraySpec((), np.dtype("f4")), Kind.NUMPY),
        (ArraySpec((), np.dtype("u8")), Kind.NUMPY),
        (ArraySpec((2, 0), np.dtype("i8")), Kind.ARRAY),
        (ArraySpec((2, None), np.dtype("i8")), Kind.OBJECT),
        (ArraySpec((2,), np.dtype(">i8")), Kind.OBJECT),
        (ArraySpec((), np.dtype("c8")), Kind.OBJECT),
        (ArraySpec((), np.dtype("M8[s]")), Kind.OBJECT),
        (ObjectSpec(str), Kind.OBJECT),
    ],
)
def test_the_form_of_a_leaf_is_that_seen_by_a_function(leaf, kind):
    assert form_of_leaf(leaf).kind is kind


def test_values_of_other_kinds_have_no_form():
    assert form_of_value(np.float32(1)) == ValueForm(Kind.NUMPY, np.dtype("f4"))
    assert form_of_value(np.ones((2, 3))) == ValueForm(Kind.ARRAY, np.dtype("f8"), (2, 3))
    for value in (np.array(1), np.ma.ones(2), np.array(["a"]), np.str_("a"), 1, None):
        assert form_of_value(value) is None


def test_forms_know_the_bytes_of_an_element():
    assert ValueForm(Kind.ARRAY, np.dtype("f4"), (2, 3)).nbytes == 24
    assert OBJECT.kind is Kind.OBJECT


class Length(int):
    pass


def test_only_exact_python_number_types_count():
    assert all(map(is_python_number, (1, 1.5, True)))
    assert not any(map(is_python_number, (Length(1), np.float64(1), 1j, None)))


def test_dtypes_have_integer_limits():
    assert limits(np.dtype("i1")) == (-128, 127)
