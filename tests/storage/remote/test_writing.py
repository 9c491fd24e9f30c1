"""Files written to URLs: all or none, under the names of local files."""

from __future__ import annotations

import signal
import subprocess
import sys
from unittest.mock import Mock

import pytest

import penstock as ps
from penstock.storage.remote import writing
from penstock.storage.remote.file import RemoteFile
from penstock.storage.remote.listing import find_objects
from penstock.storage.remote.stores import store_of

fsspec = pytest.importorskip("fsspec")
OPTIONS = {"cache_bytes": 0}
AT_ONCE = {**OPTIONS, "retry_seconds": 0}


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


def test_shards_of_a_run_with_another_number_are_refused_or_replaced(store):
    def write(count, **more):
        ds = ps.Dataset.range(count).map(lambda x: bytes(20))
        return ds.write_tfrecord("memory://written/a", max_bytes=30, storage_options=OPTIONS, **more)

    write(3)
    store.pipe("/written/below/a-00000-of-00009", b"of another")
    before = names(store)
    with pytest.raises(FileExistsError, match=r"memory://written/a-00000-of-00003 exists already.*earlier run"):
        write(2)
    assert names(store) == before
    assert write(2, overwrite=True) == [f"memory://written/a-0000{i}-of-00002" for i in range(2)]
    assert names(store) == [*(f"/written/a-0000{i}-of-00002" for i in range(2)), "/written/below/a-00000-of-00009"]


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


def interrupted(ds):
    """Write, and expect the interrupt."""
    with pytest.raises(KeyboardInterrupt):
        ds.write_tfrecord("memory://written/a", storage_options=OPTIONS)


def test_an_interrupted_request_leaves_no_object(store, monkeypatch):
    put = type(store).put_file

    def interrupt(self, *given, **more):
        signal.raise_signal(signal.SIGINT)  # in the main thread, which waits
        put(self, *given, **more)

    monkeypatch.setattr(type(store), "put_file", interrupt)
    interrupted(ps.Dataset.range(4).map(lambda x: bytes(20)))
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


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_object_of_another_writer_is_left(store, monkeypatch, when):
    put = type(store).put_file

    def race(self, path, key, **more):
        if when == "after":
            put(self, path, key, **more)
        store.pipe("/written/a", b"of another")
        raise PermissionError("no")

    monkeypatch.setattr(type(store), "put_file", race)
    with pytest.raises(PermissionError):
        ps.Dataset.range(4).map(lambda x: bytes(20)).write_tfrecord("memory://written/a", storage_options=OPTIONS)
    assert store.cat_file("/written/a") == b"of another"


def test_an_object_replaced_after_it_was_sent_is_left(store, monkeypatch):
    put, count = type(store).put_file, []

    def race(self, path, key, **more):
        count.append(key)
        if len(count) == 2:
            store.pipe(count[0], b"of another")
            raise PermissionError("no")
        put(self, path, key, **more)

    monkeypatch.setattr(type(store), "put_file", race)
    with pytest.raises(PermissionError):
        ps.Dataset.range(9).map(lambda x: bytes(20)).write_tfrecord(
            "memory://written/a", max_bytes=99, storage_options=OPTIONS
        )
    assert [store.cat_file(name) for name in names(store)] == [b"of another"]


def after_the_manifest(store, monkeypatch, error):
    """Let the request that sends a manifest end with an error, or an interrupt, once the store has it."""
    put = type(store).put_file

    def late(self, path, key, **more):
        put(self, path, key, **more)
        if key.endswith("penstock.json"):
            if error is None:
                signal.raise_signal(signal.SIGINT)
            else:
                raise error

    monkeypatch.setattr(type(store), "put_file", late)


@pytest.mark.parametrize("overwrite", [False, True])
def test_a_dataset_whose_last_answer_is_lost_is_saved(store, monkeypatch, overwrite):
    if overwrite:
        ps.Dataset.range(5).save("memory://written/d", storage_options=OPTIONS)
    after_the_manifest(store, monkeypatch, ConnectionError("lost"))
    ps.Dataset.range(9).save("memory://written/d", overwrite=overwrite, storage_options=AT_ONCE)
    assert list(ps.Dataset.load("memory://written/d", storage_options=OPTIONS)) == list(range(9))


def test_a_request_that_is_denied_takes_back_what_was_sent(store, monkeypatch):
    put = type(store).put_file

    def denied(self, path, key, **more):
        if key.endswith("penstock.json"):
            raise PermissionError("no")
        put(self, path, key, **more)

    monkeypatch.setattr(type(store), "put_file", denied)
    with pytest.raises(PermissionError) as caught:
        ps.Dataset.range(9).save("memory://written/d", storage_options=OPTIONS)
    assert not hasattr(caught.value, "__notes__")
    assert names(store) == []


def test_an_interrupt_while_a_dataset_is_replaced_leaves_the_new_one(store, monkeypatch):
    ps.Dataset.range(5).save("memory://written/d", storage_options=OPTIONS)
    after_the_manifest(store, monkeypatch, None)
    with pytest.raises(KeyboardInterrupt):
        ps.Dataset.range(9).save("memory://written/d", overwrite=True, storage_options=OPTIONS)
    assert list(ps.Dataset.load("memory://written/d", storage_options=OPTIONS)) == list(range(9))


def test_a_dataset_of_which_the_store_does_not_say_whether_it_is_there_is_left(store, monkeypatch):
    after_the_manifest(store, monkeypatch, ConnectionError("lost"))
    monkeypatch.setattr(writing, "_tag_of_equal", Mock(side_effect=ConnectionError("lost")))
    with pytest.raises(ConnectionError) as caught:
        ps.Dataset.range(9).save("memory://written/d", storage_options=AT_ONCE)
    assert "did not say whether it has memory://written/d/penstock.json" in caught.value.__notes__[-1]
    assert list(ps.Dataset.load("memory://written/d", storage_options=OPTIONS)) == list(range(9))


@pytest.mark.parametrize("size", [10, 9 << 20], ids=["one request", "parts"])
def test_an_object_store(size, monkeypatch, tmp_path):
    server, boto3 = pytest.importorskip("moto.server"), pytest.importorskip("boto3")
    pytest.importorskip("obstore")
    running = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    try:
        url = "http://{}:{}".format(*running.get_host_and_port())
        given = {"key": "a", "secret": "b", "endpoint_url": url, "region": "us-east-1", **OPTIONS}
        client = boto3.client(
            "s3", endpoint_url=url, aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1"
        )
        client.create_bucket(Bucket=f"data-{size}")
        root = f"s3://data-{size}"
        ds = ps.Dataset.from_source([bytes(size)])
        ds.write_tfrecord(f"{root}/a", storage_options=given)
        assert list(ps.read_tfrecord(f"{root}/a", storage_options=given)) == list(ds)
        monkeypatch.setattr("penstock.storage.remote.writing._exists", lambda *_: False)  # not there when looked for
        before = client.head_object(Bucket=f"data-{size}", Key="a")["ETag"]
        if size < 1 << 20:
            with pytest.raises(FileExistsError, match=f"{root}/a exists already: another writer"):
                ps.Dataset.from_source([b"other"]).write_tfrecord(f"{root}/a", storage_options=given)
            assert client.head_object(Bucket=f"data-{size}", Key="a")["ETag"] == before
        ds.write_tfrecord(f"{root}/a", overwrite=True, storage_options=given)
        opened = find_objects([f"{root}/a"], given)[0]
        assert isinstance(opened, RemoteFile)
        written = tmp_path / "b"
        written.write_bytes(bytes(size))
        tag = store_of(opened.access).write("b", str(written), create=True)
        assert tag == store_of(opened.access).head("b").tag  # by which an object is known as this writer's
    finally:
        running.stop()
