import numpy as np
import pytest

import penstock as ps
from penstock.cli.files.stored import STORED, columns_of, features_of, sample_of, unwrap_example
from penstock.core.errors import ElementError

SAMPLE = {"image": b"\xff\xd8\xff\xe0...", "label": 3, "weight": 0.5, "ids": [1, 2, 3]}


def stored_and_read(name, samples, path, compression=None):
    columns = columns_of(samples)
    made = [STORED[name].store(sample, i, columns, False) for i, sample in enumerate(samples)]
    STORED[name].write(made, str(path), columns, compression)
    return made, list(STORED[name].read(str(path)))


@pytest.mark.parametrize("name", ["TFRecord", "tar"])
def test_stored_samples_are_read_back_equal(name, tmp_path):
    made, read = stored_and_read(name, [SAMPLE, {**SAMPLE, "ids": []}], tmp_path / "a")
    assert read == made


@pytest.mark.parametrize("name", STORED)
def test_compressed_samples_are_read_back_equal(name, tmp_path):
    pytest.importorskip("zstandard")
    pytest.importorskip("pyarrow")
    sizes = [0]
    for compression in STORED[name].compressions:
        made, read = stored_and_read(name, [{"text": b"abc" * 20}] * 100, tmp_path / compression, compression)
        assert read == made
        sizes.append((tmp_path / compression).stat().st_size)
    assert max(sizes) < 3000


def test_parquet_has_lists_where_any_sample_has_several_values(tmp_path):
    pytest.importorskip("pyarrow")
    samples = [SAMPLE, {"label": 4, "ids": 7, "weight": np.float32(1)}]
    made, read = stored_and_read("Parquet", samples, tmp_path / "a.parquet")
    assert read == made
    assert [row["ids"] for row in read] == [[1, 2, 3], [7]]
    assert "image" not in read[1]


def test_only_examples_are_opened():
    assert unwrap_example(ps.records.encode_example({"label": 3})) == {"label": 3}
    assert [unwrap_example(element) for element in (b"", b"text", {"a": b""}, 3)] == [b"", b"text", {"a": b""}, 3]


def test_an_example_is_its_features_and_other_bytes_are_a_record():
    record = ps.records.encode_example(SAMPLE)
    sample = sample_of(record)
    assert sample["ids"].tolist() == [1, 2, 3]
    assert (sample["image"], sample["label"], sample["weight"]) == (SAMPLE["image"], 3, 0.5)
    assert STORED["TFRecord"].store(sample, 0, {}, False) == record
    for content in (b"", b"no example"):
        assert features_of(content) == {}
        assert STORED["TFRecord"].store(sample_of(content), 0, {}, False) == content


def test_members_of_a_tar_have_extensions_by_type():
    members = STORED["tar"].store(
        {"image/encoded": SAMPLE["image"], "jpg": SAMPLE["image"], "n": 1, "t": "a"}, 7, {}, False
    )
    assert members == {
        "__key__": "000000007",
        "image_encoded.jpg": SAMPLE["image"],
        "jpg": SAMPLE["image"],
        "n.json": b"1",
        "t.txt": b"a",
    }


@pytest.mark.parametrize(
    ("sample", "told"),
    [({"a/b": b"1", "a_b": b"2"}, "both be called"), ({"parts": [b"1", b"2"]}, "no place in one member")],
)
def test_values_that_do_not_fit_a_tar_are_named(sample, told):
    with pytest.raises(ElementError, match=told):
        STORED["tar"].store(sample, 0, {}, False)


@pytest.mark.parametrize(
    ("sample", "told"), [({"other": 1}, "the part 'other'"), ({"label": [1, 2]}, "several values")]
)
def test_a_row_that_the_columns_do_not_hold_is_named(sample, told):
    with pytest.raises(ElementError, match=f"record 5 has {told}"):
        STORED["Parquet"].store(sample, 5, columns_of([{"label": 1}]), False)


def test_values_of_several_dimensions_are_refused():
    with pytest.raises(ElementError, match="several dimensions"):
        sample_of({"image": np.zeros((2, 2))})


def test_whole_numbers_and_others_share_a_column():
    assert columns_of([{"a": 1}, {"a": 0.5}, {"b": None}, {"b": "x"}]) == {
        "a": ("float64", False),
        "b": ("string", False),
    }
