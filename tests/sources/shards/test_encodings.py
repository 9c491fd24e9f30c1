"""Encodings of columns: what bytes become, and which of them is at fault."""

from __future__ import annotations

import pickle
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.sources.shards import encodings


def test_arrays_of_one_shape_are_one_column():
    column = encodings.fixed("x", "<i2", [2]).column([b"\1\0\2\0", b"\3\0\4\0"])
    assert column.tolist() == [[1, 2], [3, 4]]
    assert encodings.fixed("x", "<i2", [2]).size == 4
    assert encodings.fixed("x", "<i2").column([]).shape == (0,)


def test_whole_numbers_beyond_64_bits_stay_python_numbers():
    assert encodings.parsed("x", int).column([b"1", b"%d" % 10**30]) == [1, 10**30]
    assert encodings.parsed("x", int).column([b"1", b"-2"]).dtype == np.int64


@pytest.mark.parametrize(("encoding", "data"), [
    (encodings.text("x"), b"\xff"),
    (encodings.parsed("x", int), b"one"),
    (encodings.parsed("x", float), b""),
    (encodings.json_values("x"), b"{"),
    (encodings.json_values("x"), b"[" * 100_000),
    (encodings.picture("x"), b"short"),
    (encodings.picture("x"), struct.pack("<III", 9, 9, 1) + b"L" + bytes(80)),
    (encodings.picture("x"), struct.pack("<III", 1, 1, 1) + b"Q" + bytes(1)),
    (encodings.picture("x"), struct.pack("<III", 2**32 - 1, 2**32 - 1, 3) + b"RGB"),
    (encodings.parts("x"), b"\1\0"),
    (encodings.parts("x"), struct.pack("<I", 2**32 - 1)),
    (encodings.parts("x"), struct.pack("<II", 1, 5) + b"abc"),
    (encodings.parts("x"), struct.pack("<II", 0, 5)),
])  # fmt: skip
def test_the_value_at_fault_is_named(encoding, data):
    with pytest.raises(DataError) as told:
        encoding.column([data, data])
    assert told.value.element == 0


def test_the_position_of_a_bad_value_counts_earlier_values():
    with pytest.raises(DataError) as told:
        encodings.text("x").column([b"a", b"b", b"\xff"])
    assert told.value.element == 2


@given(st.lists(st.binary(max_size=20), max_size=9), st.sampled_from([0, 4]))
def test_lists_of_values_are_decoded(values, lead):
    data = bytes(lead) + struct.pack(f"<{len(values) + 1}I", len(values), *map(len, values)) + b"".join(values)
    assert encodings.parts("x", lead=lead).column([data]) == [values]


def test_encodings_can_be_pickled():
    for encoding in (encodings.parts("x", encodings.pixels_of), encodings.text("x"), encodings.parsed("x", int)):
        assert pickle.loads(pickle.dumps(encoding)) == encoding
