"""ArrayRecord files, as the package that is made for them reads them, are a source."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import penstock as ps

pytest.importorskip("array_record")
from array_record.python.array_record_data_source import ArrayRecordDataSource
from array_record.python.array_record_module import ArrayRecordWriter

RECORDS = [b"record %d " % i * (i % 5) for i in range(50)]


@pytest.fixture
def paths(tmp_path):
    written = [str(tmp_path / f"{i}.array_record") for i in range(2)]
    for path, records in zip(written, (RECORDS[:20], RECORDS[20:]), strict=True):
        writer = ArrayRecordWriter(path, "group_size:1")
        for record in records:
            writer.write(record)
        writer.close()
    return written


def test_any_record_is_read_in_any_order(paths):
    ds = ps.Dataset.from_source(ArrayRecordDataSource(paths))
    assert len(ds) == 50
    assert list(ds) == RECORDS
    assert ds[21] == RECORDS[21]
    assert sorted(ds.shuffle(seed=0)) == sorted(RECORDS)
    with pytest.raises(IndexError):
        ds[50]


def test_a_restored_iterator_continues_where_it_stopped(paths):
    ps.testing.verify_resume(ps.Dataset.from_source(ArrayRecordDataSource(paths)).shuffle(seed=3).batch(4))


def test_a_source_can_be_pickled(paths):
    def ds():
        return ps.Dataset.from_source(ArrayRecordDataSource(paths)).shuffle(seed=1)

    expected = list(ds())
    assert list(pickle.loads(pickle.dumps(ds()))) == expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert list(ds().with_options(ps.Options(executor=pool))) == expected
    assert list(ds().with_options(ps.Options(executor="threads", workers=3))) == expected


def test_an_invalid_file_is_an_error_of_the_package(tmp_path):
    path = tmp_path / "a.array_record"
    path.write_bytes(b"no array record" * 100)
    with pytest.raises(Exception, match="ArrayRecord file"):
        list(ps.Dataset.from_source(ArrayRecordDataSource(str(path))))
