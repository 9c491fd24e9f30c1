"""LitData's chunks that end in an Arrow table."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.litdata.folder import litdata_samples
from penstock.testing.sources import verify_source
from tests.sources.shard_files import arrow_chunks, changed_index

pytest.importorskip("pyarrow")
ROWS = [
    {"text": f"é{i}", "said": [{"who": "a", "n": j} for j in range(i % 3)], "score": None if i % 4 else i / 3}
    for i in range(17)
]
CHUNKS = [ROWS[:8], ROWS[8:9], ROWS[9:]]


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_samples_equal_the_written_values(compression, tmp_path):
    ds = ps.read_litdata(arrow_chunks(tmp_path, CHUNKS, compression=compression))
    assert list(ds) == ROWS
    assert ds[-1] == ROWS[-1]
    verify_source(litdata_samples(tmp_path))
    assert sorted(element["text"] for element in ds.shuffle(seed=0)) == sorted(row["text"] for row in ROWS)
    ps.testing.verify_resume(ds.shuffle(seed=1))


def test_a_sample_is_located(tmp_path):
    assert str(ps.read_litdata(arrow_chunks(tmp_path, CHUNKS)).locate(10)[0]) == f"{tmp_path}/chunk-0-2.bin, sample 1"


def test_a_damaged_table_is_named(tmp_path):
    path = arrow_chunks(tmp_path, CHUNKS) / "chunk-0-1.bin"
    path.write_bytes(path.read_bytes().replace(b"ARROW1", b"arrow1"))
    with pytest.raises(DataError, match=r"chunk-0-1.bin, at byte 12: "):
        list(ps.read_litdata(tmp_path))
    path.write_bytes(b"\xff" * 20)
    with pytest.raises(DataError, match=r"chunk-0-1.bin, at byte 8: it does not end in an Arrow table"):
        list(ps.read_litdata(tmp_path))


def test_a_wrong_number_of_samples_is_named(tmp_path):
    arrow_chunks(tmp_path, CHUNKS)
    changed_index(tmp_path, lambda index: index["chunks"][1].update(chunk_size=2))
    with pytest.raises(DataError, match=r"chunk-0-1.bin, at byte 0: it has 1 samples; index.json says 2"):
        list(ps.read_litdata(tmp_path))


def test_files_of_the_original_package_are_read(tmp_path):
    pytest.importorskip("litdata")
    pytest.importorskip("zstd")  # what it compresses with
    from litdata.streaming.writer import BinaryWriter

    rows = [{"text": f"é{i}", "said": [{"who": "a", "n": j} for j in range(i % 3)], "id": i} for i in range(500)]
    for compression in (None, "zstd"):
        folder = str(tmp_path / str(compression))
        writer = BinaryWriter(folder, chunk_size=200, compression=compression)
        for number, row in enumerate(rows):
            writer[number] = row
        writer.done()
        writer.merge()
        assert list(ps.read_litdata(folder)) == rows
