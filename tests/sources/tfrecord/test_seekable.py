"""Random access to records in seekable zstd: equal to the records of the plain file, in any frames."""

from __future__ import annotations

import pickle
import random

import numpy as np
import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.sources.tfrecord.seekable import SeekableRecords
from penstock.sources.tfrecord.writing import framed
from penstock.testing.laws import verify_determinism, verify_resume
from penstock.testing.sources import verify_source
from tests.sources.damage import damaged_by_its_disk

pytest.importorskip("zstandard")

RECORDS = [random.Random(i).randbytes(i * 7 % 100) for i in range(300)]


def written(tmp_path, cut, name="a.zst"):
    from tests.storage.test_seekable import seekable

    data = b"".join(map(framed, RECORDS))
    (tmp_path / name).write_bytes(seekable([data[i : i + cut] for i in range(0, len(data), cut)]))
    return str(tmp_path / name)


@pytest.mark.parametrize("cut", [16, 100, 1000, 1 << 20])
def test_records_equal_those_of_the_plain_file(tmp_path, cut):
    paths = [written(tmp_path, cut), written(tmp_path, 333, "b.zst")]
    source = SeekableRecords(paths, "x")
    assert source.length == 600
    rows = np.random.default_rng(0).permutation(600)
    assert source.read_many(rows).elements() == [RECORDS[row % 300] for row in rows.tolist()]
    assert source.read_many(rows[:0]).elements() == []
    assert source.describe(301) == f"{paths[1]}, record 1, at byte 16 of its content"
    again = pickle.loads(pickle.dumps(source))
    assert again.read_many(rows[:3]).elements() == [RECORDS[row % 300] for row in rows[:3].tolist()]
    assert again.fingerprint() == source.fingerprint()


def test_the_source_passes_the_conformance_checks(tmp_path):
    verify_source(SeekableRecords([written(tmp_path, 400), written(tmp_path, 1 << 20, "b.zst")], "x"))


def test_the_dataset_is_indexed_and_shuffled_by_frames(tmp_path):
    ds = ps.read_tfrecord(written(tmp_path, 500))
    assert len(ds) == 300
    assert ds[7] == RECORDS[7]
    assert list(ds) == RECORDS
    shuffled = list(ds.shuffle(seed=1))
    assert sorted(shuffled) == sorted(RECORDS) != shuffled
    verify_resume(ds.shuffle(seed=1).map(len).batch(32), most=4)
    verify_determinism(ds.shuffle(seed=1).map(len).batch(32))
    stream = ps.read_tfrecord([tmp_path / "a.zst"], compression="zstd")
    assert list(stream) == RECORDS


def test_files_without_a_table_are_a_stream(tmp_path):
    import zstandard

    (tmp_path / "a.zst").write_bytes(zstandard.compress(b"".join(map(framed, RECORDS))))
    ds = ps.read_tfrecord(tmp_path / "a.zst")
    assert ds.cardinality() == ps.UNKNOWN
    assert list(ds) == RECORDS


def test_damage_names_the_record_or_the_frame(tmp_path):
    from tests.storage.test_seekable import seekable

    data = bytearray(b"".join(map(framed, [b"one", b"two"])))
    data[19 + 12] ^= 1
    (tmp_path / "a.zst").write_bytes(seekable([bytes(data[:10]), bytes(data[10:])]))
    source = SeekableRecords([str(tmp_path / "a.zst")], "x")
    assert source.read_many(np.array([0])).elements() == [b"one"]
    with pytest.raises(
        DataError, match=r"a.zst, record 1, at byte 19 of its content: its content is damaged"
    ) as caught:
        source.read_many(np.array([0, 1]))
    assert caught.value.element == 1
    assert SeekableRecords(source.paths, "x", verify=False).read_many(np.array([1])).elements() == [b"uwo"]


def test_a_damaged_frame_loses_only_its_records(tmp_path):
    path = written(tmp_path, 1000)
    source = SeekableRecords([path], "x")
    begin = int(source.sidecars[0].arrays["compressed"][3])
    with damaged_by_its_disk(path) as file:
        file.seek(begin)
        file.write(bytes(8))
    ds = ps.Dataset.range(300).map(lambda row: source.read_many(np.array([row])).elements()[0], on_error="skip")
    kept = list(ds)
    offsets = source.sidecars[0].arrays["offsets"]
    assert kept == [
        record for record, end, at in zip(RECORDS, offsets[1:], offsets, strict=False) if end <= 3000 or at >= 4000
    ]
    row = int(np.searchsorted(offsets, 3500))
    with pytest.raises(DataError, match=f"a.zst: the zstd frame 3, at byte {begin}") as caught:
        source.read_many(np.array([0, 299, row]))
    assert caught.value.element == 2


def test_a_wrong_table_is_refused(tmp_path):
    path = written(tmp_path, 1000)
    good = (tmp_path / "a.zst").read_bytes()
    last = len(good) - 9 - 4  # the content of the last frame
    size = int.from_bytes(good[last : last + 4], "little")
    (tmp_path / "a.zst").write_bytes(good[:last] + (size + 1).to_bytes(4, "little") + good[last + 4 :])
    with pytest.raises(DataError, match=r"a\.zst: its table of zstd frames is damaged"):
        len(ps.read_tfrecord(path))


def test_swapped_sizes_in_a_table_are_detected(tmp_path):
    """The table has the sizes of two frames the wrong way round: their sum is right."""
    path = written(tmp_path, 1000)
    good = bytearray((tmp_path / "a.zst").read_bytes())
    at = [len(good) - 9 - 8 * i + 4 for i in (1, 2)]
    good[at[0] : at[0] + 4], good[at[1] : at[1] + 4] = good[at[1] : at[1] + 4], good[at[0] : at[0] + 4]
    (tmp_path / "a.zst").write_bytes(good)
    ds = ps.read_tfrecord(path, verify=False)
    kept = list(ds.ignore_errors())
    assert 0 < len(kept) < 300
    assert kept == RECORDS[: len(kept)]
