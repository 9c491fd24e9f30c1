"""Samples of columns whose sizes come first, as elements."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.core.errors import DataError
from penstock.sources.shards import encodings
from penstock.sources.shards.samples import Layout, StoredColumn

LAYOUT = Layout(
    (
        StoredColumn("n", encodings.fixed("n", "<i4"), 4),
        StoredColumn("t", encodings.text("t")),
        StoredColumn("b", encodings.as_bytes("b")),
    ),
    {"t": 1, "rest": (2, 0)},
)


def sample(n, text, data):
    return struct.pack("<II", len(text), len(data)) + struct.pack("<i", n) + text + data


@given(st.lists(st.tuples(st.integers(-9, 9), st.text(max_size=5), st.binary(max_size=5)), max_size=9))
def test_written_samples_are_read(values):
    chunk = LAYOUT.chunk([sample(n, text.encode(), data) for n, text, data in values], str)
    assert chunk.elements() == [{"t": text, "rest": (data, n)} for n, text, data in values]


def test_nested_values_keep_the_types_of_their_numbers():
    columns = (StoredColumn("j", encodings.json_values("j")), StoredColumn("u", encodings.fixed("u", "|u1"), 1))
    (element,) = Layout(columns, {"j": 0, "u": 1}).chunk([struct.pack("<I", 3) + b"[1]\7"], str).elements()
    assert element == {"j": [1], "u": 7}
    assert isinstance(element["u"], np.uint8)
    assert Layout(columns, {"j": 0, "u": 1}).spec() is None
    assert str(Layout(columns, [1]).spec()) == "[uint8]"


@pytest.mark.parametrize(("data", "why"), [
    (b"\1\0\0", "it has 3 bytes, fewer than the 8 of its column sizes"),
    (sample(1, b"abc", b"")[:-1], "its columns take 15 bytes, and the sample has 14"),
    (sample(1, b"", b"") + b"x", "its columns take 12 bytes, and the sample has 13"),
    (sample(1, b"\xff", b""), "column 't' is not t: 'utf-8'"),
])  # fmt: skip
def test_damage_is_named(data, why):
    with pytest.raises(DataError, match=f"^sample 1: {why}") as told:
        LAYOUT.chunk([sample(1, b"", b""), data], lambda i: f"sample {i}")
    assert told.value.element == 1
