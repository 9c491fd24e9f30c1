"""Decoding a record without a specification of its features."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps

VALUES = st.one_of(
    st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1).map(lambda values: np.array(values, np.int64)),
    st.lists(st.floats(width=32, allow_nan=False), min_size=1).map(lambda values: np.array(values, np.float32)),
    st.lists(st.binary(), min_size=1),
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), VALUES))
def test_every_feature_is_found_as_it_was_written(features):
    decoded = ps.records.decode_example(ps.records.encode_example(features))
    assert decoded.keys() == features.keys()
    for name, values in features.items():
        assert type(decoded[name]) is type(values)
        assert np.array_equal(decoded[name], values)
        assert isinstance(values, list) or decoded[name].dtype == values.dtype


def test_features_without_values_are_left_out():
    assert ps.records.decode_example(ps.records.encode_example({"none": [], "one": [1]})).keys() == {"one"}


@pytest.mark.parametrize("record", [b"\xff\xd8\xff\xe0", b"this is text", b"\x0a\x05ab"])
def test_bytes_that_are_no_example_are_refused(record):
    with pytest.raises(ps.errors.DataError, match=r"not a tf\.train\.Example"):
        ps.records.decode_example(record)
