"""Features inferred from records parse those records and print as code."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

R = ps.records
ROWS = [{"one": i, "two": [1.0, i], "many": ["x"] * (i % 3), "some": i} for i in range(20)]
for row in ROWS[::4]:
    del row["some"]
RECORDS = [R.encode_example(row) for row in ROWS]
EXPECTED = {
    "many": R.RaggedFeature(bytes),
    "one": R.FixedLenFeature([], "int64"),
    "some": R.FixedLenFeature([], "int64", 0),
    "two": R.FixedLenFeature([2], "float32"),
}


def test_inferred_features_fit_the_data() -> None:
    found = R.infer_features(RECORDS)
    assert found == EXPECTED
    assert eval(repr(found), {"ps": ps}) == EXPECTED
    assert R.parse_example(found)(RECORDS)["some"].tolist() == [row.get("some", 0) for row in ROWS]


def test_paths_datasets_and_iterables_are_accepted(tmp_path) -> None:
    ps.Dataset.from_source(RECORDS).write_tfrecord(tmp_path / "a.tfrecord")
    assert R.infer_features(tmp_path / "a.tfrecord") == EXPECTED
    assert R.infer_features([str(tmp_path / "*.tfrecord")], count=7).keys() == EXPECTED.keys()
    assert R.infer_features(ps.read_tfrecord(tmp_path / "a.tfrecord")) == EXPECTED
    assert R.infer_features(iter(RECORDS), count=2)["many"] == R.FixedLenFeature([], bytes, b"")


def test_a_list_that_some_records_lack_is_ragged() -> None:
    records = [R.encode_example({"x": [1, 2]}), R.encode_example({})]
    assert R.infer_features(records) == {"x": R.RaggedFeature("int64")}
    assert repr(R.infer_features([b""])) == "{}"


@pytest.mark.parametrize(
    ("records", "error", "said"),
    [
        ([], ps.errors.DataError, "no records"),
        ([b"\xff"], ps.errors.DataError, "record 0 is no"),
        (
            [R.encode_example({"x": 1}), R.encode_example({"x": 1.0})],
            ps.errors.DataError,
            '"x" holds float32 and int64',
        ),
        ([1], TypeError, "not int"),
        (b"", TypeError, "several records"),
        (["no such file"], FileNotFoundError, "no such file"),
    ],
)
def test_data_that_cannot_be_inferred_is_an_error(records, error, said: str) -> None:
    with pytest.raises(error, match=said):
        R.infer_features(records)


def test_an_array_of_records_is_accepted() -> None:
    assert R.infer_features(np.array(RECORDS, object)) == EXPECTED
