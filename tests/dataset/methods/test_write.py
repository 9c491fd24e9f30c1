"""`save` and the writers of files: readers return the written elements."""

from __future__ import annotations

import os
import resource
import sys

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.core.errors import ElementError, PlanError
from penstock.testing.laws import same


def shuffled_rows():
    return Dataset.range(9).shuffle(seed=3).map(lambda x: {"n": x, "text": f"<{x}>"})


def of_first_epoch(ds):
    return list(ds.iterator(epoch=0))


def test_written_records_are_read_back(tmp_path):
    ds = Dataset.range(9).map(lambda x: bytes([x]) * 9)
    (path,) = ds.write_tfrecord(tmp_path / "a.tfrecord")
    assert list(ps.read_tfrecord(path)) == of_first_epoch(ds)
    shards = ds.write_tfrecord(tmp_path / "b.tfrecord", max_bytes=60)
    assert len(shards) > 1
    assert list(ps.read_tfrecord(shards)) == of_first_epoch(ds)


def test_written_samples_are_read_back(tmp_path):
    ds = Dataset.range(4).map(lambda x: {"__key__": f"k/{x}", "cls": x, "txt": "a" * x})
    (path,) = ds.write_tar(tmp_path / "a.tar")
    assert list(ps.read_tar(path, columns=["cls"], decode=True)) == [{"__key__": f"k/{x}", "cls": x} for x in range(4)]


def test_written_rows_are_read_back(tmp_path):
    pytest.importorskip("pyarrow")
    ds = shuffled_rows()
    (path,) = ds.write_parquet(tmp_path / "a.parquet")
    assert all(map(same, ps.read_parquet(path), of_first_epoch(ds)))
    assert list(ps.read_parquet(path, columns=["text"])) == [{"text": row["text"]} for row in of_first_epoch(ds)]


def test_a_saved_epoch_is_loaded_equal(tmp_path):
    ds = shuffled_rows()
    ds.save(tmp_path / "saved")
    assert all(map(same, Dataset.load(tmp_path / "saved"), of_first_epoch(ds)))


WRITERS = ["save", "write_tfrecord", "write_tar", "write_parquet"]


@pytest.mark.parametrize("name", WRITERS)
def test_writing_an_endless_dataset_is_refused(name, tmp_path):
    with pytest.raises(PlanError, match=rf"^{name}\(\): this dataset never ends; take\(\) a part of it"):
        getattr(Dataset.counter(), name)(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", WRITERS)
def test_wrong_arguments_are_named(name, tmp_path):
    write = getattr(shuffled_rows(), name)
    with pytest.raises(TypeError, match=rf"^{name}\(path=3\): expected a path, not int"):
        write(3)
    with pytest.raises(TypeError, match=rf"^{name}\(overwrite=3\)"):
        write(tmp_path / "a", overwrite=3)
    if name != "save":
        with pytest.raises(ValueError, match=rf"^{name}\(max_bytes=0\)"):
            write(tmp_path / "a", max_bytes=0)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "compression"), [("write_tfrecord", "lz4"), ("write_parquet", "zip")])
def test_other_compressions_are_refused(name, compression, tmp_path):
    with pytest.raises((PlanError, ValueError), match=f"^{name}.*{compression}"):
        getattr(shuffled_rows(), name)(tmp_path / "a", compression=compression)


@pytest.mark.parametrize(("name", "said"), [("write_tfrecord", "not bytes"), ("write_tar", "not a dict by ext")])
def test_elements_of_another_kind_are_named(name, said, tmp_path):
    with pytest.raises(ElementError, match=f"{name}: element 0 is int.*, .*{said}|{name}: element 0 is int.*{said}"):
        getattr(Dataset.range(3), name)(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_kept_unless_overwrite_is_set(tmp_path):
    pytest.importorskip("pyarrow")
    for name in ("write_tar", "write_parquet"):
        ds = Dataset.range(3).map(lambda x: {"n": x})
        (path,) = getattr(ds, name)(tmp_path / name)
        with pytest.raises(FileExistsError, match="overwrite=True"):
            getattr(ds, name)(path)
        assert getattr(ds, name)(path, overwrite=True) == [path]


@pytest.mark.parametrize("name", ["save", "write_tfrecord", "write_tar", "write_parquet"])
def test_a_disk_that_refuses_is_an_error_that_names_call_and_path_and_leaves_nothing(name, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # or modules imported meanwhile would be cut off
    noise = Dataset.range(50).map(lambda x: {"__key__": str(x), "bin": np.random.default_rng(int(x)).bytes(9000)})
    ds = noise.map(lambda sample: sample["bin"]) if name == "write_tfrecord" else noise
    path = tmp_path / {"write_tfrecord": "a.tfrecord", "write_tar": "a.tar", "write_parquet": "a.parquet"}.get(
        name, "a"
    )
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            getattr(ds, name)(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (note,) = [note for note in caught.value.__notes__ if name in note]
    assert note.startswith(f"{name}({str(path)!r}) has written nothing")
    assert list(tmp_path.iterdir()) == []


def test_elements_left_out_by_on_error_are_not_written(tmp_path):
    ds = Dataset.range(5).map(lambda x: bytes([6 // (x - 1)]), on_error="skip")
    (path,) = ds.write_tfrecord(tmp_path / "a.tfrecord")
    assert list(ps.read_tfrecord(path)) == [b"\x06", b"\x03", b"\x02"]


def test_text_of_numpy_is_written_as_text(tmp_path):
    pytest.importorskip("pyarrow")
    (path,) = Dataset.from_tensor_slices({"t": np.array(["a", "bc"])}).write_parquet(tmp_path / "t.parquet")
    assert list(ps.read_parquet(path)) == [{"t": "a"}, {"t": "bc"}]


@pytest.mark.parametrize(
    ("writer", "name", "says"),
    [
        (
            "write_tar",
            "a.tar.gz",
            "by gzip as a whole, which write_tar does not write.*compress the members",
        ),
        ("write_tar", "a.TGZ", r"another format; end it in \.tar$"),
        ("write_tar", "s3://bucket/a.tar.zst", "compressed by zstd"),
        ("write_parquet", "a.parquet.zst", "omit .zst, and compression= compresses the columns instead"),
        ("write_parquet", "a.csv", r"a name in \.csv is for files of another format; end it in \.parquet$"),
        ("write_parquet", "a.tar", r"end it in \.parquet, or call write_tar"),
        ("write_tfrecord", "a.parquet.gz", r"end it in \.tfrecord, or call write_parquet"),
    ],
)
def test_a_name_of_something_else_is_refused(writer, name, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlanError, match=f"^{writer}.*{says}"):
        getattr(ps.Dataset.range(3).map(lambda x: {"x": x}), writer)(name)
    assert os.listdir(tmp_path) == []


def test_other_names_are_free(tmp_path):
    ds = ps.Dataset.from_source([b"one"])
    for name in ("tar", "a.records", "a.v2.TFRECORD", "b.csv/a.gz"):
        ds.write_tfrecord(tmp_path / name)
