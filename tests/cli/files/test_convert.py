import io
import json
import os

import numpy as np
import pytest

import penstock as ps
from penstock.cli.files import convert as converting
from penstock.cli.files.convert import convert
from penstock.cli.files.stored import sample_of
from penstock.cli.loading import TargetError
from penstock.cli.terminal import Terminal
from penstock.core.errors import DataError, ElementError

RECORDS = [ps.records.encode_example({"label": i, "name": f"{i}" * 20}) for i in range(100)]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ps.Dataset.from_source(RECORDS).write_tfrecord("a.tfrecord")


def told(*asked, **settings):
    stream = io.StringIO()
    convert(*asked, Terminal(stream), **{"workers": 1, **settings})
    return stream.getvalue()


def test_a_file_converted_and_back_is_the_same():
    assert "100 records in 1 file" in told(["a.tfrecord"], "b.tar")
    assert ps.read_tar("b.tar", decode=True)[3] == {
        "__key__": "000000003", "label.json": 3, "name": b"3" * 20
    }  # fmt: skip
    told(["a.tfrecord"], "b.tfrecord")
    assert list(ps.read_tfrecord("b.tfrecord")) == RECORDS


def test_shards_have_about_the_requested_size_and_hold_all_records_in_order():
    told(["a.tfrecord"], "b.tfrecord", max_bytes=1000)
    names = sorted(name for name in os.listdir() if name.startswith("b-"))
    names = [name for name in names if name.endswith(".tfrecord")]
    assert names[0] == f"b-00000-of-{len(names):05d}.tfrecord"
    assert max(map(os.path.getsize, names)) < 2500
    assert list(ps.read_tfrecord("b-*.tfrecord")) == RECORDS


def test_several_processes_write_the_same_files():
    told(["a.tfrecord"], "one/b.tar", max_bytes=30_000)
    told(["a.tfrecord"], "two/b.tar", max_bytes=30_000, workers=2)
    names = sorted(os.listdir("one"))
    assert sorted(os.listdir("two")) == names
    tars = [name for name in names if name.endswith(".tar")]
    assert len(tars) > 1
    for name in tars:
        with open(f"one/{name}", "rb") as one, open(f"two/{name}", "rb") as two:
            assert one.read() == two.read()


def test_an_interrupted_conversion_continues(monkeypatch):
    wrote = []
    plainly = converting._write_shard

    def until_the_third(plan, shard, tell):
        if len(wrote) == 2:
            raise KeyboardInterrupt
        wrote.append(shard)
        plainly(plan, shard, tell)

    monkeypatch.setattr(converting, "_write_shard", until_the_third)
    with pytest.raises(KeyboardInterrupt):
        told(["a.tfrecord"], "b.tfrecord", max_bytes=1000)
    assert not [name for name in os.listdir() if name.startswith("b-")]
    there = {name: os.stat(name).st_ino for name in os.listdir() if name.endswith(".converted")}
    assert len(there) == 2
    monkeypatch.setattr(converting, "_write_shard", plainly)
    assert "continuing: 2 of" in told(["a.tfrecord"], "b.tfrecord", max_bytes=1000)
    names = [name.removeprefix(".").removesuffix(".converted") for name in there]
    assert [os.stat(name).st_ino for name in names] == list(there.values())
    assert list(ps.read_tfrecord("b-*.tfrecord")) == RECORDS
    assert [name for name in os.listdir() if name.startswith(".")] == [".penstock"]
    assert not [name for name in os.listdir(".penstock") if name.startswith(".")]


def test_another_conversion_that_was_interrupted_is_not_mixed_with_this_one(monkeypatch):
    def never(plan, shard, tell):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(converting, "_write_shard", never)
        with pytest.raises(KeyboardInterrupt):
            told(["a.tfrecord"], "b.tfrecord", max_bytes=1000)
    with pytest.raises(TargetError, match="--overwrite"):
        told(["a.tfrecord"], "b.tfrecord", max_bytes=2000)
    told(["a.tfrecord"], "b.tfrecord", max_bytes=2000, overwrite=True)
    assert list(ps.read_tfrecord("b-*.tfrecord")) == RECORDS


def test_shards_of_an_earlier_conversion_are_refused_or_replaced():
    told(["a.tfrecord"], "b.tfrecord", max_bytes=1000)
    before = sorted(os.listdir())
    with pytest.raises(TargetError, match=r"b-00000-of-.* exists already.*earlier run"):
        told(["a.tfrecord"], "b.tfrecord", max_bytes=2000)
    assert sorted(os.listdir()) == before
    told(["a.tfrecord"], "b.tfrecord", max_bytes=2000, overwrite=True)
    assert list(ps.read_tfrecord("b-*.tfrecord")) == RECORDS


def test_a_record_that_differs_when_read_again_is_an_error_and_leaves_no_file(monkeypatch):
    stored = converting.STORED["TFRecord"]
    poor = type(stored)(
        stored.store, lambda records, path, *told: stored.write(list(records)[:-1], path, *told), stored.read
    )
    monkeypatch.setitem(converting.STORED, "TFRecord", poor)
    with pytest.raises(DataError, match="record 99"):
        told(["a.tfrecord"], "b.tfrecord")
    assert "b.tfrecord" not in os.listdir()


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ((["a.tfrecord"], "b.txt"), "the extension of b.txt is unknown"),
        ((["a.tfrecord"], "a.tfrecord"), "exists already"),
        ((["a.tfrecord", "other.tar"], "b.tar"), "files of one format"),
        ((["a.tfrecord"], "b.parquet.gz"), r"omit \.gz"),
        ((["a.tfrecord"], "b.tar.gz"), r"omit \.gz"),
        ((["a.tfrecord"], "b.tfrecord.xz"), "not in xz"),
    ],
)
def test_impossible_conversions_are_refused_before_any_work(asked, reason):
    ps.Dataset.from_source([{"txt": "x"}]).write_tar("other.tar")
    with pytest.raises(TargetError, match=reason):
        told(*asked)


def test_an_empty_dataset_becomes_an_empty_file():
    ps.Dataset.from_source([]).write_tfrecord("none.tfrecord")
    told(["none.tfrecord"], "none.tar")
    assert len(ps.read_tar("none.tar")) == 0


@pytest.mark.parametrize("to", ["b.tfrecord.zst", "b.tfrecord.gz", "b.tfrecord"])
def test_compressed_shards_hold_all_in_order(to):
    pytest.importorskip("zstandard")
    told(["a.tfrecord"], to, max_bytes=1000, **({} if to.count(".") > 1 else {"compression": "zlib"}))
    names = sorted(name for name in os.listdir() if name.startswith("b-"))
    assert names[0] == f"b-00000-of-{len(names):05d}{to[1:]}"
    ds = ps.read_tfrecord(names)
    assert list(ds) == RECORDS
    assert (ds.cardinality() == 100) == to.endswith("zst")


def test_a_compression_that_contradicts_the_name_is_refused():
    with pytest.raises(TargetError, match=r"omit \.gz"):
        told(["a.tfrecord"], "b.tfrecord.gz", compression="zstd")
    with pytest.raises(TargetError, match="TFRecord files in gzip, zlib, zstd; not in snappy"):
        told(["a.tfrecord"], "b.tfrecord", compression="snappy")


def test_the_index_is_written_with_the_file():
    told(["a.tfrecord"], "b.tfrecord")
    before = os.stat(".penstock/b.tfrecord.psindex").st_ino
    assert len(ps.read_tfrecord("b.tfrecord")) == 100
    assert os.stat(".penstock/b.tfrecord.psindex").st_ino == before
    assert [name for name in os.listdir() if name.startswith(".")] == [".penstock"]
    assert not [name for name in os.listdir(".penstock") if name.startswith(".")]


@pytest.mark.parametrize("to", ["c.tfrecord.zst", "c.tar", "c.parquet"])
def test_a_stream_becomes_one_file(to):
    pytest.importorskip("zstandard")
    pytest.importorskip("pyarrow")
    ps.Dataset.from_source(RECORDS).write_tfrecord("b.tfrecord.gz")
    assert "100 records in 1 file" in told(["b.tfrecord.gz"], to)
    if to.endswith("zst"):
        assert ps.read_tfrecord(to)[99] == RECORDS[99]
    else:
        assert len(ps.read_tar(to) if to.endswith("tar") else ps.read_parquet(to)) == 100
    with pytest.raises(TargetError, match="without --max-bytes"):
        told(["b.tfrecord.gz"], "d.tfrecord", max_bytes=1000)


def test_a_record_is_written_before_the_next_one_is_made(monkeypatch):
    stored, made = converting.STORED["TFRecord"], []

    def store(sample, number, columns, rounding):
        made.append(number)
        return stored.store(sample, number, columns, rounding)

    def write(records, path, *told):
        def watched():
            for number, record in enumerate(records):
                assert made == list(range(number + 1))
                yield record

        stored.write(watched(), path, *told)
        made.clear()

    monkeypatch.setitem(converting.STORED, "TFRecord", type(stored)(store, write, stored.read))
    told(["a.tfrecord"], "b.tfrecord")
    assert made == list(range(100))  # a second time, to be compared
    assert list(ps.read_tfrecord("b.tfrecord")) == RECORDS


def test_examples_without_a_value_of_a_list_have_an_empty_one_in_parquet():
    pytest.importorskip("pyarrow")
    ps.Dataset.from_source(
        [ps.records.encode_example({"label": i, "ids": list(range(i))}) for i in range(3)]
    ).write_tfrecord("lists.tfrecord")
    told(["lists.tfrecord"], "lists.parquet")
    assert [row["ids"].tolist() for row in ps.read_parquet("lists.parquet")] == [[], [0], [0, 1]]


@pytest.mark.parametrize("name", ["b.foo", "b", "b.csv", "nowhere/b.foo"])
def test_a_name_without_a_known_extension_is_refused(name):
    with pytest.raises(TargetError, match=r"writes TFRecord, tar, Parquet; the extension of .* is unknown"):
        told(["a.tfrecord"], name)


def test_one_file_shows_its_progress(monkeypatch):
    monkeypatch.setattr(converting, "_TOLD_EVERY", 40)
    tellings = []
    plan = converting._planned(["a.tfrecord"], "b.tar", None, None, None, rounding=False)
    converting._write_shard(plan, 0, tellings.append)
    assert tellings == [f"{count} records {done}" for done in ("written", "compared") for count in (40, 80)]


@pytest.fixture
def photos(folder):
    for path in ("cat/one.jpg", "cat/two.JPEG", "dog/one.jpg"):
        os.makedirs(os.path.dirname(f"photos/{path}"), exist_ok=True)
        with open(f"photos/{path}", "wb") as file:
            file.write(b"\xff\xd8\xff" + path.encode())


def known_of(sample):
    """Return the key, label, path and content of a sample, under whatever names the format gives them."""
    texts = {name: value.decode() if isinstance(value, bytes) else value for name, value in sample.items()
             if "jpg" not in name and name != "image"}  # fmt: skip
    label = next(texts[name] for name in ("label", "label.json", "cls") if name in texts)
    path = next(texts[name] for name in ("path", "path.txt") if name in texts)
    content = next(sample[name] for name in ("image", "image.jpg", "jpg") if name in sample)
    return texts["__key__"], int(label), path, content


def samples_of(path):
    if path.endswith(".tar"):
        return list(ps.read_tar(path))
    if path.endswith(".parquet"):
        return list(ps.read_parquet(path))
    return [sample_of(record) for record in ps.read_tfrecord(path)]


@pytest.mark.parametrize("first", ["a.tar", "a.parquet", "one.tfrecord"])
@pytest.mark.parametrize("second", ["b.tar", "b.parquet", "b.tfrecord"])
def test_keys_labels_and_file_names_are_kept_from_a_folder_through_every_pair_of_formats(photos, first, second):
    pytest.importorskip("pyarrow")
    told(["photos"], first)
    told([first], second)
    wanted = [
        (os.path.splitext(path)[0], label, path, b"\xff\xd8\xff" + path.encode())
        for label, path in ((0, "cat/one.jpg"), (0, "cat/two.JPEG"), (1, "dog/one.jpg"))
    ]
    assert list(map(known_of, samples_of(first))) == wanted
    assert list(map(known_of, samples_of(second))) == wanted
    assert [element["label"] for element in ps.read_image_folder("photos")] == [label for _, label, _, _ in wanted]


def test_images_of_two_kinds_become_one_entry(photos):
    with open("photos/dog/two.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
    assert 'ps.read_tar(\'a.tar\', columns={"image": "jpg;png"})' in told(["photos"], "a.tar")
    found = list(ps.read_tar("a.tar", columns={"image": "jpg;png", "label": "cls"}))
    assert [sample["image"][:3] for sample in found] == [b"\xff\xd8\xff"] * 3 + [b"\x89PN"]


def test_a_stray_file_among_others_is_named(photos):
    with open("photos/README.txt", "w") as file:
        file.write("these are photos")
    with pytest.raises(TargetError, match=r"1 file of the format text \(photos/README.txt\).*omit some files"):
        told(["photos"], "a.tar")


def test_files_of_unknown_format_are_called_so(photos):
    ps.Dataset.from_source([b"a"]).write_tfrecord("photos/a.tfrecord")
    with pytest.raises(TargetError, match=r"3 files of unknown format \(photos/.*, \.\.\.\)"):
        told(["photos"], "a.tar")


def test_a_saved_dataset_is_exported_by_another_command(folder):
    ps.Dataset.range(3).save("rows")
    with pytest.raises(TargetError, match=r"penstock cache export rows out\.parquet"):
        told(["rows"], "a.tar")


def test_names_are_kept_where_there_are_no_class_folders(folder):
    os.makedirs("data/deep")
    for path in ("data/x.bin", "data/deep/y.bin"):
        with open(path, "w") as file:
            file.write(path)
    told(["data"], "b.tar")
    assert list(ps.read_tar("b.tar")) == [
        {"__key__": "deep/y", "bin": b"data/deep/y.bin"}, {"__key__": "x", "bin": b"data/x.bin"}
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sample", "to", "reason"),
    [
        ({"__key__": "a.b", "x": 1}, "b.tar", "the key 'a.b'"),
        ({"__key__": "a", "__url__": 1}, "b.tar", "'__url__'"),
        ({"Name": 1}, "b.tar", "lowercase"),
        ({"x": 0.1}, "b.tfrecord", "--float32"),
        ({"x": 2**70}, "b.tfrecord", "does not fit int64"),
        ({"x": {"y": 1}}, "b.parquet", "a column cannot hold"),
    ],
)
def test_a_record_that_the_target_cannot_hold_is_an_error_that_leaves_no_file(folder, sample, to, reason):
    pytest.importorskip("pyarrow")
    with open("a.jsonl", "w") as file:
        file.writelines(json.dumps(line) + "\n" for line in [{**sample, "x": 1} for _ in range(3)] + [sample])
    before = set(os.listdir())
    with pytest.raises(ElementError, match=reason):
        told(["a.jsonl"], to, max_bytes=1)
    assert set(os.listdir()) - before <= {".penstock"}
    assert not [name for name in os.listdir(".penstock") if name.startswith("b")]


def test_consecutive_samples_with_one_key_are_an_error_for_tar(folder):
    os.makedirs("pairs")
    for name in ("1.jpg", "1.txt"):
        with open(f"pairs/{name}", "w") as file:
            file.write(name)
    with pytest.raises(ElementError, match="the same key '1' as the element before"):
        told(["pairs"], "b.tar", name="files")


def test_numbers_are_rounded_only_on_request(folder):
    with open("a.jsonl", "w") as file:
        file.write('{"x": 0.1, "y": [0.5, NaN]}\n')
    told(["a.jsonl"], "b.tfrecord", rounding=True)
    assert ps.records.decode_example(ps.read_tfrecord("b.tfrecord")[0])["x"] == np.float32(0.1)
    told(["a.jsonl"], "b.tar")
    assert ps.read_tar("b.tar", decode=True)[0]["x.json"] == 0.1
