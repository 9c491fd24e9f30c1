"""Files written to URLs: all or none, under the names of local files."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

import penstock as ps

fsspec = pytest.importorskip("fsspec")
OPTIONS = {"cache_bytes": 0}


@pytest.fixture
def store():
    """The store in memory, empty at first."""
    made = fsspec.filesystem("memory")
    made.rm("/written", recursive=True) if made.exists("/written") else None
    return made


def names(store):
    return sorted(store.find("/written")) if store.exists("/written") else []


def test_files_are_sent_and_read_back(store, cache):
    ds = ps.Dataset.range(40).map(lambda x: b"%d" % x * 9)
    sent = ds.write_tfrecord("memory://written/a.tfrecord", max_bytes=300, storage_options=OPTIONS)
    assert sent[0].startswith("memory://written/a-00000-of-")
    assert names(store) == [name.removeprefix("memory:/") for name in sent]
    assert list(ps.read_tfrecord(sent, storage_options=OPTIONS)) == list(ds)
    samples = ds.map(lambda x: {"txt": x})
    assert samples.write_tar("memory://written/a.tar", storage_options=OPTIONS) == ["memory://written/a.tar"]
    assert [each["txt"] for each in ps.read_tar("memory://written/a.tar", storage_options=OPTIONS)] == list(ds)
    assert not list(cache.glob("penstock-*"))


def test_existing_objects_are_kept_unless_overwritten(store):
    ds = ps.Dataset.from_source([b"one"])
    ds.write_tfrecord("memory://written/a.tfrecord", storage_options=OPTIONS)
    before = store.cat_file("/written/a.tfrecord")
    other = ps.Dataset.from_source([b"two"])
    with pytest.raises(FileExistsError, match=r"memory://written/a\.tfrecord exists already"):
        other.write_tfrecord("memory://written/a.tfrecord", storage_options=OPTIONS)
    assert store.cat_file("/written/a.tfrecord") == before
    other.write_tfrecord("memory://written/a.tfrecord", overwrite=True, storage_options=OPTIONS)
    assert store.cat_file("/written/a.tfrecord") != before


def test_an_error_of_the_elements_sends_nothing(store):
    def fail(x):
        if x == 30:
            raise ValueError("no")
        return bytes(20)

    with pytest.raises(ValueError, match="no"):
        ps.Dataset.range(40).map(fail).write_tfrecord("memory://written/a", max_bytes=99, storage_options=OPTIONS)
    assert names(store) == []


def test_an_error_of_the_store_deletes_what_was_sent(store, monkeypatch):
    put, count = type(store).put_file, []

    def refuse(self, *given, **more):
        count.append(given)
        if len(count) > 2:
            raise PermissionError("no")
        return put(self, *given, **more)

    monkeypatch.setattr(type(store), "put_file", refuse)
    with pytest.raises(PermissionError, match="access is denied"):
        ps.Dataset.range(40).map(lambda x: bytes(20)).write_tfrecord(
            "memory://written/a", max_bytes=99, storage_options=OPTIONS
        )
    assert names(store) == []


def test_an_interrupted_request_leaves_no_object(store, monkeypatch):
    put = type(store).put_file

    def interrupt(self, *given, **more):
        put(self, *given, **more)
        raise KeyboardInterrupt  # once the store has the object, before the call returns

    monkeypatch.setattr(type(store), "put_file", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ps.Dataset.range(4).map(lambda x: bytes(20)).write_tfrecord("memory://written/a", storage_options=OPTIONS)
    assert names(store) == []


KILLED = """
import os, sys
import penstock as ps
def deadly(x):
    return os.kill(os.getpid(), 9) if x == 30 else b"%d" % x
ds = ps.Dataset.range(40).map(deadly)
ds.write_tfrecord("memory://written/a.tfrecord", storage_options={"cache_dir": sys.argv[1]})
"""


def test_the_next_writer_removes_the_files_of_one_that_was_killed(store, tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert len(list(tmp_path.glob("penstock-*"))) == 1
    options = {"cache_dir": tmp_path}
    ps.Dataset.from_source([b"one"]).write_tfrecord("memory://written/b.tfrecord", storage_options=options)
    assert list(tmp_path.glob("penstock-*")) == []
