import gzip

import pytest

import penstock as ps
from penstock.cli.files.formats import FORMATS, find_format, format_of, group_files
from penstock.cli.loading import TargetError


@pytest.fixture
def records(tmp_path):
    (path,) = ps.Dataset.from_source([b"one", b"two"]).write_tfrecord(tmp_path / "a.tfrecord")
    return path


@pytest.mark.parametrize("known", FORMATS)
def test_a_format_is_detected_by_extension_and_name(known):
    assert find_format(known.name.upper()) is known
    for extension in known.extensions:
        assert format_of(f"train{extension.upper()}") is known


@pytest.mark.parametrize(
    ("content", "name"),
    [(b"PAR1....", "Parquet"), (b"\x93NUMPY\1", "NumPy"), (b'{"a": 1}\n', "JSON lines"), (b"", "files")],
)
def test_the_content_decides_if_the_name_is_unknown(tmp_path, content, name):
    path = tmp_path / "part-0"
    path.write_bytes(content)
    assert format_of(str(path)).name == name


def test_extensions_of_compressions_are_skipped(tmp_path, records):
    assert [format_of(f"a.{name}").name for name in ("tfrecord.gz", "CSV.ZST", "txt.bz2")] == [
        "TFRecord",
        "CSV",
        "text",
    ]
    packed = tmp_path / "part-0"
    with open(records, "rb") as file:
        packed.write_bytes(gzip.compress(file.read()))
    assert format_of(str(packed)).name == "TFRecord"
    packed.write_bytes(packed.read_bytes()[:5])
    assert format_of(str(packed)).name == "files"


def test_tfrecord_is_detected_by_the_checksum_of_the_first_length(tmp_path, records):
    plain = tmp_path / "part-0"
    with open(records, "rb") as file:
        plain.write_bytes(file.read())
    assert format_of(str(plain)).name == "TFRecord"
    damaged = bytearray(plain.read_bytes())
    damaged[9] ^= 1
    plain.write_bytes(damaged)
    assert format_of(str(plain)).name == "files"


def test_a_folder_means_its_files_by_format(tmp_path, records):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "notes.txt").write_text("a line\n")
    groups = {known.name: paths for known, paths in group_files([str(tmp_path)])}
    assert groups == {"TFRecord": [records], "text": [str(tmp_path / "deep" / "notes.txt")]}


def test_a_requested_format_applies_to_all_files(tmp_path, records):
    ((known, paths),) = group_files([str(tmp_path / "*")], "files")
    assert (known.name, paths) == ("files", [records])
    assert list(known.read(paths)) != []


@pytest.mark.parametrize("asked", [(["nothing-*.tfrecord"], None), (["."], "TFRecords of another kind")])
def test_missing_files_are_reported_plainly(tmp_path, monkeypatch, asked):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(TargetError, match=r"no file matches|there is no format"):
        group_files(*asked)


def test_files_of_a_saved_dataset_are_one_group(tmp_path):
    ps.Dataset.range(5).save(tmp_path / "data" / "rows")
    (tmp_path / "data" / "a.txt").write_text("x")
    found = {known.name: paths for known, paths in group_files([str(tmp_path / "data")])}
    assert found == {"text": [str(tmp_path / "data" / "a.txt")], "saved dataset": [str(tmp_path / "data" / "rows")]}
    ((known, paths),) = group_files([str(tmp_path / "data" / "rows")])
    assert list(known.read(paths)) == [0, 1, 2, 3, 4]
    ((known, _),) = group_files([str(tmp_path / "data" / "rows" / "leaf-0.npy")])
    assert known.name == "NumPy"


def test_a_heading_counts_files_and_bytes(tmp_path):
    for name in ("a.txt", "b.txt", "c", "d"):
        (tmp_path / name).write_bytes(b"abc")
    headings = [known.heading(paths) for known, paths in group_files([str(tmp_path)])]
    assert headings == ["text: 2 files, 6 bytes", "2 files of one element each, 6 bytes"]
