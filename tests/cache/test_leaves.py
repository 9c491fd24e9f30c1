"""Each kind of leaf has a form, and comes back from its arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from penstock import Ragged, Sparse
from penstock.cache.leaves import OBJECT, dtype_text, form_of_rows, leaf_form, leaf_parts, put_together
from tests.cache.kinds import LEAVES, exactly


@given(value=LEAVES)
def test_a_leaf_comes_back_from_its_arrays(value):
    form = leaf_form(value)
    parts = [np.ascontiguousarray(part).reshape(part.shape) for part in leaf_parts(form, value)]
    for part in parts:
        part.flags.writeable = False
    assert exactly(put_together(form, parts)) == exactly(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (3, "number"), (True, "number"), (np.int8(3), "scalar"), (np.zeros(2), "array"), (b"", "bytes"), ("", "str"),
        (Ragged([1], [0, 1]), "ragged"), (Sparse.from_dense([1]), "sparse"), (1 << 63, "object"), (object, "object"),
        (np.array([None]), "object"), (np.str_("a"), "object"), (np.ma.zeros(2), "object"),
        (np.zeros(2, "V0"), "object"),
    ],
)  # fmt: skip
def test_kinds(value, kind):
    assert leaf_form(value).kind == kind


def test_forms_do_not_hang_on_sizes_and_those_of_rows_do():
    assert leaf_form(np.zeros((2, 3))) == leaf_form(np.zeros((5, 1))) != leaf_form(np.zeros(2))
    assert form_of_rows(np.zeros((2, 3))) != form_of_rows(np.zeros((2, 4)))
    assert form_of_rows(np.array([None])) == OBJECT


@pytest.mark.parametrize("dtype", ["f4", ">i8", "M8[ns]", "S3", "U2", "V5", [("a", ">i2"), ("b", "f4", (2, 2))]])
def test_dtypes_have_texts(dtype):
    assert dtype_text(np.dtype(dtype)) is not None


def test_dtypes_of_other_libraries_are_pickled_if_their_bytes_do_not_tell_them():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    value = np.array([1, 2], ml_dtypes.bfloat16)
    made = put_together(leaf_form(value), leaf_parts(leaf_form(value), value))
    assert (made.dtype, made.tolist()) == (value.dtype, value.tolist())
