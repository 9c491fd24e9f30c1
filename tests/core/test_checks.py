"""Counts, flags and seeds of public calls: accepted values, and errors for all others."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.checks import MOST, check_content, check_count, check_flag, check_seed
from penstock.core.errors import DecodeError


@pytest.mark.parametrize("value", [3, np.int32(3), np.uint64(3), np.array(3)])
def test_whole_numbers_of_any_kind_become_an_int(value):
    count = check_count("take", "count", value, least=0)
    assert count == 3
    assert type(count) is int


@pytest.mark.parametrize("value", [1.0, "1", None, [1], True, np.float64(1), np.array([1, 2])])
def test_values_that_are_no_whole_numbers_are_refused_by_name(value):
    with pytest.raises(TypeError, match=r"^take\(count=.*expected a whole number, not"):
        check_count("take", "count", value, least=0)


def test_a_count_below_the_least_is_refused_with_the_allowed_values():
    with pytest.raises(ValueError, match=r"^repeat\(count=-2\): expected at least 0, or -1$"):
        check_count("repeat", "count", -2, least=0, also=(-1,))
    assert check_count("repeat", "count", -1, least=0, also=(-1,)) == -1


def test_a_count_that_rows_cannot_reach_is_refused_or_clipped():
    assert check_count("batch", "batch_size", MOST, least=1) == MOST
    with pytest.raises(ValueError, match=r"expected at most 2\*\*62"):
        check_count("batch", "batch_size", MOST + 1, least=1)
    assert check_count("take", "count", 2**100, least=0, clip=True) == MOST


@pytest.mark.parametrize("value", [True, False, np.True_, np.False_])
def test_flags_are_python_and_numpy_booleans(value):
    assert check_flag("batch", "drop_remainder", value) is bool(value)


@pytest.mark.parametrize("value", [0, 1, "yes", None])
def test_values_that_are_no_flags_are_refused(value):
    with pytest.raises(TypeError, match=r"^batch\(drop_remainder=.*expected True or False"):
        check_flag("batch", "drop_remainder", value)


def test_seeds_are_words_of_64_bits():
    assert check_seed("shuffle", None) is None
    assert check_seed("shuffle", 2**64 - 1) == 2**64 - 1
    for bad in (-1, 2**64):
        with pytest.raises(ValueError, match=r"^shuffle\(seed="):
            check_seed("shuffle", bad)
    with pytest.raises(TypeError, match=r"^shuffle\(seed='a'\)"):
        check_seed("shuffle", "a")


@pytest.mark.parametrize("content", [b"abc", bytearray(b"abc"), memoryview(b"abc"), np.frombuffer(b"abc", np.uint8)])
def test_the_content_of_a_file_is_bytes_in_any_form(content):
    assert check_content("image", content) == b"abc"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (3, "the audio cannot be decoded: decode takes the bytes of an audio file, not int$"),
        (np.zeros((2, 3), np.float32), r"not an array of float32\[2, 3\]$"),
        (np.array([b"a", None]), r"not an array of object\[2\]; decode before batch$"),
        (b"", r"the audio cannot be decoded: it is empty \(0 bytes\)$"),
    ],
)
def test_anything_else_is_no_content_of_a_file(value, message):
    with pytest.raises(DecodeError, match=message):
        check_content("audio", value)
