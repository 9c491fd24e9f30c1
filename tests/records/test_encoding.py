"""Records that are written read back, the same bytes for the same values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from tests.records import wire

R = ps.records


@given(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1)),
    st.lists(st.floats(width=32, allow_nan=False)),
    st.lists(st.binary()),
)
def test_written_records_are_read_back(numbers: list, floats: list, texts: list) -> None:
    features = {"i": np.array(numbers, np.int64), "f": np.array(floats, np.float32), "t": texts}
    parse = R.parse_example(
        {"i": R.RaggedFeature("int64"), "f": R.RaggedFeature("float32"), "t": R.RaggedFeature(bytes)}
    )
    found = parse(R.encode_example(features))
    assert found["i"].tolist() == numbers
    assert found["f"].tolist() == floats
    assert found["t"].tolist() == texts


def test_the_bytes_are_those_of_protobuf_with_sorted_names() -> None:
    entries = [
        ("a", wire.feature("bytes", [b"x"])),
        ("b", wire.feature("int64", [1, -1])),
        ("c", wire.feature("float32", [0.5])),
    ]
    assert R.encode_example({"c": 0.5, "b": [1, -1], "a": "x"}) == wire.example(entries)
    assert R.encode_example({}) == b""


@pytest.mark.parametrize(
    ("value", "kind", "values"),
    [
        (True, "int64", [1]),
        (np.uint8([[1, 2], [3, 4]]), "int64", [1, 2, 3, 4]),
        (1.5, "float32", [1.5]),
        (np.float16([0.5]), "float32", [0.5]),
        ("é", "bytes", ["é".encode()]),
        (("a", b"b"), "bytes", [b"a", b"b"]),
        (np.array(["a", "b"], object), "bytes", [b"a", b"b"]),
        (np.zeros(0, np.float32), "float32", []),
    ],
)
def test_values_become_the_list_of_their_type(value, kind: str, values: list) -> None:
    assert R.encode_example({"x": value}) == wire.example([("x", wire.feature(kind, values))])


def test_an_empty_list_is_a_feature_that_is_missing() -> None:
    assert R.parse_example({"x": R.FixedLenFeature([], "int64", 7)})(R.encode_example({"x": []})) == {"x": 7}


@pytest.mark.parametrize("value", [1j, np.uint64([1 << 63]), ["a", 1], [object()], 1 << 64])
def test_unsupported_values_are_refused_by_name(value) -> None:
    with pytest.raises(ps.errors.ElementError, match='feature "x"'):
        R.encode_example({"x": value})


def test_sequences_are_lists_of_features() -> None:
    made = R.encode_sequence_example({"u": 1}, {"s": [[1.0], [2.0, 3.0]]})
    steps = [wire.feature("float32", [1.0]), wire.feature("float32", [2.0, 3.0])]
    assert made == wire.sequence_example([("u", wire.feature("int64", [1]))], [("s", steps)])


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (2**63, str(2**63)),
        (-(2**63) - 1, str(-(2**63) - 1)),
        ([1, 2**64], str(2**64)),
        ([-1, 2**63], str(2**63)),
        ([[1, 2**70]], str(2**70)),
        (np.array([2**70], object), str(2**70)),
        (1 << 16_609, "a whole number of 16,610 bits"),
    ],
    ids=range(7),
)
def test_whole_numbers_beyond_int64_are_told_as_such(value, told: str) -> None:
    with pytest.raises(ps.errors.ElementError, match=rf'^encode_example: feature "a": {told} does not fit int64$'):
        ps.records.encode_example({"a": value})


def test_the_largest_whole_numbers_are_kept() -> None:
    record = ps.records.encode_example({"a": [-(2**63), 2**63 - 1]})
    assert ps.records.decode_example(record)["a"].tolist() == [-(2**63), 2**63 - 1]
