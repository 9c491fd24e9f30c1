"""Errors about a record name the feature, the record and a remedy."""

from __future__ import annotations

import pytest

import penstock as ps
from tests.records import wire

R = ps.records
GOOD = wire.example([("x", wire.feature("int64", [1])), ("t", wire.feature("bytes", [b"a"]))])
FEATURES = {"x": R.FixedLenFeature([], "int64"), "t": R.FixedLenFeature([], str, "")}


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"\x0a\x05ab", "not a tf.train.Example, or is damaged"),
        (wire.example([]), '"x": it is missing.*default_value='),
        (wire.example([("x", b"")]), '"x": it is missing'),
        (wire.example([("x", wire.feature("float32", [1.0]))]), '"x": it holds float32, not int64.*dtype="float32"'),
        (
            wire.example([("x", wire.feature("int64", [1, 2]))]),
            '"x": it has 2 values, and its shape has 1.*RaggedFeature',
        ),
        (wire.example([("x", wire.field(3, b"\x0a\x05\x01"))]), '"x": its values are damaged'),
        (GOOD.replace(b"a", b"\xff"), '"t": its text is not UTF-8'),
    ],
)
def test_a_bad_record_is_named_with_its_fault(record: bytes, said: str) -> None:
    parse = R.parse_example(FEATURES)
    with pytest.raises(ps.errors.DataError, match=f"parse_example: .*{said}"):
        parse(record)
    with pytest.raises(ps.errors.DataError, match=f"record 2 of the batch: .*{said}") as caught:
        parse([GOOD, GOOD, record, GOOD])
    assert caught.value.element == 0  # the one batch
    ds = ps.Dataset.from_tensor_slices(records_of([GOOD, GOOD, record, GOOD])).map(parse)
    with pytest.raises(ps.errors.DataError, match=said) as caught:
        list(ds)
    assert any("at row 2" in note for note in caught.value.__notes__)
    assert len(list(ds.ignore_errors())) == 3


def test_faults_in_lists_are_named() -> None:
    parse = R.parse_sequence_example(None, {"s": R.FixedLenSequenceFeature([], "int64")})
    with pytest.raises(ps.errors.DataError, match=r'"s": it is missing.*allow_missing=True'):
        parse(b"")
    with pytest.raises(ps.errors.DataError, match='"s": it has 2 values in a step'):
        parse(R.encode_sequence_example({}, {"s": [[1, 2]]}))


def records_of(records: list[bytes]):
    import numpy as np

    return np.array(records, object)
