"""Records are accepted in every supported form; an error names the position of any other value."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

R = ps.records
PARSE = R.parse_example({"x": R.FixedLenFeature([], "int64", -1), "r": R.RaggedFeature("int64")})
RECORDS = [R.encode_example({"x": i, "r": range(i)}) for i in range(5)]


def joined(records: list[bytes]) -> ps.Ragged:
    return ps.Ragged.from_rows([np.frombuffer(record, np.uint8) for record in records])


@pytest.mark.parametrize("record", [bytes, bytearray, memoryview, lambda record: np.frombuffer(record, np.uint8)])
def test_one_record_is_any_run_of_bytes(record) -> None:
    assert PARSE(record(RECORDS[3]))["r"].tolist() == [0, 1, 2]


@pytest.mark.parametrize("batch", [list, tuple, lambda records: np.array(records, object), joined])
def test_a_batch_is_a_list_an_array_or_ragged(batch) -> None:
    found = PARSE(batch(RECORDS))
    assert found["x"].tolist() == [0, 1, 2, 3, 4]
    assert found["r"].tolist() == [[*range(i)] for i in range(5)]


def test_a_part_of_joined_records_is_a_batch() -> None:
    assert PARSE(joined(RECORDS)[2:4])["x"].tolist() == [2, 3]
    assert PARSE(joined(RECORDS).with_splits("int32"))["x"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("empty", [[], np.empty(0, object), ps.Ragged(np.zeros(0, np.uint8), [0])])
def test_a_batch_may_be_empty(empty) -> None:
    found = PARSE(empty)
    assert found["x"].shape == (0,)
    assert len(found["r"]) == 0


@pytest.mark.parametrize(
    "wrong", ["text", 3, None, np.array(RECORDS), np.zeros((2, 3)), {"a": b""}, ps.Ragged([1.5], [0, 1])]
)
def test_values_that_are_no_records_are_refused(wrong) -> None:
    with pytest.raises(TypeError, match="parse_example takes records as bytes"):
        PARSE(wrong)


def test_an_invalid_value_among_records_is_named() -> None:
    with pytest.raises(TypeError, match="not str: 'x'") as caught:
        PARSE([*RECORDS, "x"])
    assert caught.value.element == 5
    ds = ps.Dataset.from_generator(lambda: iter([b"", 3])).map(PARSE)
    with pytest.raises(TypeError, match="not int: 3"):
        list(ds)
