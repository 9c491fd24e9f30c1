import io

import pytest

import penstock as ps
from penstock.cli.files.index import index, source_of
from penstock.cli.terminal import Terminal


@pytest.fixture
def records(tmp_path):
    return ps.Dataset.from_source([bytes(20)] * 10).write_tfrecord(tmp_path / "a.tfrecord", max_bytes=100, index=False)


def told(*asked, **settings):
    stream = io.StringIO()
    assert index(*asked, Terminal(stream), **settings)
    return stream.getvalue()


def test_indexes_are_stored_next_to_the_files(tmp_path, records):
    text = told([str(tmp_path)])
    assert "TFRecord: 4 files" in text
    assert "10 records" in text
    assert sorted(path.name for path in tmp_path.glob(".penstock/*.psindex")) == [
        f"a-0000{i}-of-00004.tfrecord.psindex" for i in range(4)
    ]


def test_valid_indexes_are_kept_unless_forced(tmp_path, records):
    told([str(tmp_path)])
    places = sorted(tmp_path.glob(".penstock/*.psindex"))
    before = [place.stat().st_ino for place in places]
    told([str(tmp_path)])
    assert [place.stat().st_ino for place in places] == before
    kept = [open(place, "rb") for place in places]  # noqa: SIM115 - so that no number is given out again
    told([str(tmp_path)], force=True)
    assert not set(before) & {place.stat().st_ino for place in places}
    for file in kept:
        file.close()


def test_files_that_are_read_whole_need_no_index(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"abc")
    assert "needs no index" in told([str(tmp_path)])


def test_files_with_different_columns_are_indexed_each_by_itself(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    (tmp_path / "b.csv").write_text("z\n1\n")
    for force in (False, True):
        assert "CSV: 2 files, 16 bytes: 3 records" in told([str(tmp_path)], force=force)
    assert len(list(tmp_path.glob(".penstock/*.csv-*.psindex"))) == 2


def test_an_unreadable_file_is_named_and_those_of_other_formats_are_indexed(tmp_path, records):
    (tmp_path / "b.parquet").write_bytes(b"none")
    stream = io.StringIO()
    assert not index([str(tmp_path)], Terminal(stream))
    assert "Parquet: 1 file, 4 bytes: cannot be read" in stream.getvalue()
    assert "10 records" in stream.getvalue()


def test_a_source_is_found_below_what_moves_its_elements(records):
    source = source_of(ps.read_tfrecord(records).shuffle(seed=0).batch(2))
    assert source.length == 10
    assert source_of(ps.Dataset.zip(ps.Dataset.range(3), ps.Dataset.range(3))) is None


def test_frames_of_zstd_are_indexed(tmp_path):
    pytest.importorskip("zstandard")
    ps.Dataset.from_source([bytes(20)] * 10).write_tfrecord(tmp_path / "a.tfrecord.zst", index=False)
    assert "10 records" in told([str(tmp_path / "a.tfrecord.zst")])
    assert [path.name for path in tmp_path.glob(".penstock/*.psindex")] == ["a.tfrecord.zst.tfrecord-zstd.psindex"]


def test_blocks_of_csv_are_indexed(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,4\n")
    text = told([str(tmp_path / "a.csv")])
    assert "2 records" in text
    (place,) = tmp_path.glob(".penstock/a.csv.csv-*.psindex")
    before = place.stat().st_mtime_ns
    told([str(tmp_path / "a.csv")], force=True)
    assert place.stat().st_mtime_ns > before
