import io

import pytest

import penstock as ps
from penstock.cli.files.inspect import inspect
from penstock.cli.terminal import Terminal


@pytest.fixture
def records(tmp_path):
    (path,) = ps.Dataset.from_source([bytes([i]) * i for i in range(100)]).write_tfrecord(tmp_path / "a.tfrecord")
    return path


def told(*asked, **settings):
    stream = io.StringIO()
    good = inspect(*asked, Terminal(stream), **settings)
    return good, stream.getvalue()


def test_the_number_and_sizes_of_records_are_shown(records):
    good, text = told([records], elements=2)
    assert good
    for part in (
        "TFRecord: 1 file",
        "records   100",
        "16 bytes to 115 bytes",
        "element   bytes",
        "element 1",
        "b'\\x01'",
    ):
        assert part in text


def test_records_that_are_no_examples_are_reported(records):
    assert "not tf.train.Examples" in told([records])[1]


def test_examples_are_shown_with_their_features(tmp_path):
    examples = [ps.records.encode_example({"label": [i], "ids": list(range(i % 3))}) for i in range(10)]
    ps.Dataset.from_source(examples).write_tfrecord(tmp_path / "a.tfrecord")
    _, text = told([str(tmp_path)])
    assert "FixedLenFeature" in text
    assert "'label'" in text


def test_verification_names_each_damaged_record_and_continues(records):
    assert told([records], verify=True) == (True, told([records], verify=True)[1])
    with open(records, "r+b") as file:
        for record in (40, 60):
            file.seek(ps.read_tfrecord(records)._plan.source.sidecars[0].arrays["offsets"][record] + 12)
            file.write(b"\xee")
    good, text = told([records], verify=True)
    assert not good
    assert "98 records read, 2 damaged" in text
    assert "record 40" in text
    assert "record 60" in text


def test_a_file_that_contradicts_its_name_is_reported_as_unreadable(tmp_path):
    (tmp_path / "a.tfrecord").write_bytes(b"this is no record of any kind")
    good, text = told([str(tmp_path)])
    assert not good
    assert "cannot be read" in text


def test_streams_are_inspected_without_a_length(tmp_path):
    ps.Dataset.from_source([ps.records.encode_example({"label": i}) for i in range(5)]).write_tfrecord(
        tmp_path / "a.tfrecord.gz"
    )
    good, text = told([str(tmp_path / "a.tfrecord.gz")], verify=True)
    assert good
    for part in ("it is a stream", "of the first 5 records", "'label'", "5 records read, 0 damaged"):
        assert part in text


def test_a_missing_value_hides_no_other_fact(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": [1, None]}), tmp_path / "a.parquet")
    good, text = told([str(tmp_path / "a.parquet")], elements=2)
    assert not good
    for part in ("records   2", "element   {'x': int64}", "cannot be read:", "column x is null"):
        assert part in text


def test_files_with_different_columns_are_shown_one_by_one(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.csv").write_text("z\n1\n")
    good, text = told([str(tmp_path)])
    assert good
    assert f"CSV: 1 file, 8 bytes ({tmp_path / 'a.csv'})" in text
    assert f"CSV: 1 file, 4 bytes ({tmp_path / 'b.csv'})" in text


def test_a_folder_that_was_saved_is_shown_as_a_dataset(tmp_path):
    ps.Dataset.range(5).map(lambda x: {"x": x}).save(tmp_path / "rows")
    good, text = told([str(tmp_path / "rows")], verify=True)
    assert good
    for part in (f"saved dataset {tmp_path / 'rows'}, ", "records   5", "'x': int64", "5 records read, 0 damaged"):
        assert part in text
