"""The content key of a plan, and what it says about a change."""

import os

import numpy as np
import pytest

import penstock as ps
from penstock.plan.content.key import ContentKey
from penstock.sources.powers import paths_of
from tests.plan.content.keys import change, key_of, key_with, make


def test_a_version_does_not_switch_off_the_rest_of_the_key():
    one, other = (key_of(ps.Dataset.range(3).map(make(factor)), version="1") for factor in (1, 2))
    assert one.text != other.text


def test_operations_count_by_their_arguments_and_order():
    ds = ps.Dataset.range(10)
    assert change(key_of(ds.take(3)), key_of(ds.take(4))) == "take(4) is new and take(3) is gone"
    keys = {
        key_of(each).text
        for each in (ds.take(4).skip(1), ds.skip(1).take(4), ds.shuffle(seed=1), ds.shuffle(seed=2), ds.shuffle())
    }
    assert len(keys) == 5


def test_settings_of_the_run_do_not_count():
    ds = ps.Dataset.range(10).map(make(2))
    assert key_of(ds.prefetch(2).with_options(ps.Options(workers=2))).text == key_of(ds).text
    assert key_with(make(2)).text == key_of(ps.Dataset.range(4).map(make(2), num_parallel_calls=3)).text


def test_seeds_make_another_key():
    key = key_of(ps.Dataset.range(3).shuffle())
    assert key.with_seeds([1]).text == key.with_seeds([1]).text
    assert change(key.with_seeds([1]), key.with_seeds([2])) == "the seed changed"
    assert key.with_seeds([]) == key


def test_data_given_as_objects_counts_by_content():
    class Data:
        def __init__(self, items):
            self.items = items

        def __len__(self):
            return len(self.items)

        def __getitem__(self, row):
            return self.items[row]

    one, same, other = (key_of(ps.Dataset.from_source(Data(items))) for items in ([1, 2], [1, 2], [1, 3]))
    assert one.text == same.text
    assert one.text != other.text
    assert key_of(ps.Dataset.from_tensors([1, 2])).text != key_of(ps.Dataset.from_tensors([1, 3])).text


def test_a_dataset_inside_a_function_counts():
    def key(count):
        inner = ps.Dataset.range(count)
        return key_of(ps.Dataset.range(3).flat_map(lambda x: inner.take(2)))

    assert key(3).text == key(3).text
    assert key(3).text != key(4).text


def test_a_changed_file_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one\ntwo\n")
    before = key_of(ps.read_text(str(path)))
    assert key_of(ps.read_text(str(path))).text == before.text
    os.utime(path, ns=(1, 1))
    assert change(before, key_of(ps.read_text(str(path)))) == f"the file {path} changed"


def test_every_reader_names_its_files(tmp_path):
    pytest.importorskip("pyarrow")
    import sqlite3

    import pyarrow.parquet

    records = ps.Dataset.from_tensor_slices({"x": np.arange(3)})
    np.save(tmp_path / "a.npy", np.arange(3))
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "a.jsonl").write_text('{"x": 1}\n')
    (tmp_path / "a.bin").write_bytes(bytes(8))
    pyarrow.parquet.write_table(pyarrow.table({"x": [1, 2]}), tmp_path / "a.parquet")
    records.map(lambda e: bytes(3)).write_tfrecord(str(tmp_path / "a.tfrecord"))
    records.map(lambda e: bytes(3)).write_tfrecord(str(tmp_path / "b.tfrecord.zst"))
    records.map(lambda e: {"n": e["x"]}).write_tar(str(tmp_path / "a.tar"))
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("create table t (id integer primary key, x integer)")
        database.execute("insert into t values (1, 2)")
    database.close()
    records.save(tmp_path / "saved")
    read = {
        "a.npy": ps.read_numpy,
        "a.txt": ps.read_text,
        "a.csv": ps.read_csv,
        "a.jsonl": ps.read_json,
        "a.bin": lambda path: ps.read_fixed_length(path, 4),
        "a.parquet": ps.read_parquet,
        "a.tfrecord": ps.read_tfrecord,
        "b.tfrecord.zst": ps.read_tfrecord,
        "a.tar": ps.read_tar,
        "a.db": lambda path: ps.read_sql(path, "t", key="id"),
        "saved/penstock.json": lambda path: ps.Dataset.load(os.path.dirname(path)),
    }
    for name, reader in read.items():
        path = str(tmp_path / name)
        before = key_of(reader(path))
        assert f"the file {path}" in before.parts, name
        os.utime(path, ns=(5, 5))
        assert key_of(reader(path)).text != before.text, name
    assert paths_of(ps.read_files(str(tmp_path / "a.*"))._plan.source)


def test_many_files_are_one_part(tmp_path):
    for number in range(1001):
        (tmp_path / f"{number}").write_bytes(b"x")
    key = key_of(ps.read_files(str(tmp_path / "*")))
    assert [name for name in key.parts if "files" in name] == [f"1,001 files in {tmp_path}", "read_files"]


def test_only_the_first_changes_are_listed():
    one, other = (key_with(lambda x, n=n: [np.sqrt(x), n, abs(x)]) for n in (1, 2))
    assert change(one, other).count("changed") == 1
    many = ContentKey({str(n): "a" for n in range(9)})
    assert ContentKey({str(n): "b" for n in range(9)}).difference([many.parts]) == (
        "0 is b and was a, 1 is b and was a, 2 is b and was a and 6 other parts changed"
    )


def test_the_nearest_of_several_keys_is_compared():
    near, far, now = key_with(make(1)), key_with(lambda x: [np.sqrt(x), x, "far"]), key_with(make(2))
    assert now.difference([far.parts, near.parts]) == "factor (closed over by scaled) is 2 and was 1"
    assert now.difference([]) is None
