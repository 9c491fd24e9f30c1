"""`CsvDataset` and `make_csv_dataset`, without TensorFlow."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.tf_data import experimental

pytest.importorskip("pyarrow")


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text('age,name,height,y\n31,"Lee, Ann",1.5,0\n,Bo,1.75,1\n4,,2,0\n')
    return str(path)


def test_records_are_tuples_of_the_types_and_defaults(file):
    defaults = [np.int32(7), "nobody", np.float32, np.int64]
    rows = list(experimental.CsvDataset(file, defaults, header=True))
    assert rows == [(31, b"Lee, Ann", 1.5, 0), (7, b"Bo", 1.75, 1), (4, b"nobody", 2.0, 0)]
    assert [type(value) for value in rows[0]] == [np.int32, bytes, np.float32, np.int64]


def test_columns_are_selected_and_excluded(file):
    chosen = experimental.CsvDataset(file, [0.0, 0], header=True, select_cols=[2, 3])
    assert list(chosen) == [(1.5, 0), (1.75, 1), (2.0, 0)]
    assert list(experimental.CsvDataset(file, [0.0, 0], header=True, exclude_cols=[0, 1])) == list(chosen)


def test_an_empty_field_without_a_default_is_an_error(file):
    with pytest.raises(DataError, match="column 'age': a field is empty"):
        list(experimental.CsvDataset(file, [np.int32, str, np.float32, np.int32], header=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"record_defaults": [0]}, "1 of them, for 4 columns"),
        ({"record_defaults": [0], "select_cols": [0], "exclude_cols": [1]}, "not both"),
    ],
)
def test_arguments_that_contradict_the_file_are_refused(file, settings, message):
    with pytest.raises(ValueError, match=message):
        experimental.CsvDataset(file, **settings)


def test_compressed_files_are_read(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n3,4\n"))
    assert list(experimental.CsvDataset(str(path), [0, 0], compression_type="GZIP")) == [(1, 2), (3, 4)]


def in_order(file, **settings):
    return experimental.make_csv_dataset(file, 2, shuffle=False, num_epochs=1, **settings)


def test_types_are_guessed_and_the_label_is_taken_out(file):
    first, second = in_order(file, label_name="y")
    features, label = first
    assert {name: column.dtype for name, column in features.items()} == {
        "age": np.int32,
        "name": object,
        "height": np.float32,
    }
    assert features["age"].tolist() == [31, 0]
    assert label.tolist() == [0, 1]
    assert second[0]["name"].tolist() == [b""]


def test_columns_may_be_named_selected_and_typed(file):
    ds = in_order(file, select_columns=["y", "height"], column_defaults=[np.float64, np.int64])
    batch = next(iter(ds))
    assert {name: column.dtype.name for name, column in batch.items()} == {"height": "float64", "y": "int64"}
    renamed = in_order(file, column_names=["a", "b", "c", "d"])
    assert [batch["b"].tolist() for batch in renamed] == [[b"Lee, Ann", b"Bo"], [b""]]


def test_it_shuffles_and_repeats_without_end_unless_told(file):
    ds = experimental.make_csv_dataset(file, 3, shuffle_seed=1, select_columns=["y"])
    assert ds.cardinality() == -1
    assert [sorted(batch["y"].tolist()) for batch in ds.take(3)] == [[0, 0, 1]] * 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"label_name": "no"}, "expected one of the columns age, name"),
        ({"select_columns": ["no"]}, "no column no"),
        ({"header": False}, "needs column_names"),
        ({"column_defaults": [0]}, "1 of them, for 4 columns"),
    ],
)
def test_columns_that_are_not_there_are_refused(file, settings, message):
    with pytest.raises(ValueError, match=message):
        in_order(file, **settings)
