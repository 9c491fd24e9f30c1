"""Arrays as text."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from penstock.elements.array_text import array_text


@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8", "?", "U3", "O", "M8[D]", "c16"])
@pytest.mark.parametrize("mask", [False, True, [True, False, False]])
def test_masked_values_are_dashes_whatever_the_others_are(dtype, mask):
    array = np.ma.masked_array(np.array([1, 0, 3]).astype(dtype), mask=mask)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = array_text(array, precision=4)
    assert text.count("--") == np.ma.getmaskarray(array).sum()
    assert text[0] + text[-1] == "[]"


def test_large_arrays_are_cut_as_others_are():
    array = np.ma.masked_array(np.arange(99.0), mask=[True] + [False] * 98)
    assert array_text(array, threshold=6, edgeitems=2) == "[-- 1. ... 97. 98.]"
    assert array_text(np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])) == "[[1 --]\n [3 4]]"
    assert array_text(np.arange(9.0), threshold=6, edgeitems=1) == "[0. ... 8.]"
