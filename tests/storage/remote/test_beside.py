"""Indexes beside the objects that they are of: made by one, used by all, never of another content."""

from __future__ import annotations

import shutil

import pytest

import penstock as ps
from penstock.core.errors import PlanError
from penstock.storage.remote import beside
from penstock.storage.remote.stores import split_url, store_of

ROWS = [b"%d" % i * 9 for i in range(400)]
URL = "s3://data/*.tfrecord"


@pytest.fixture(autouse=True)
def folders():
    """Lets each test look into the store anew, as another process would."""
    beside._folder.cache_clear()
    yield
    beside._folder.cache_clear()


@pytest.fixture
def files(folder):
    ps.Dataset.from_source(ROWS).write_tfrecord(folder / "a.tfrecord", max_bytes=2000, index=False)
    return folder


@pytest.fixture
def elsewhere(cache):
    """A function that forgets all that is kept here, as on another host."""

    def forget():
        beside._folder.cache_clear()
        shutil.rmtree(cache, ignore_errors=True)

    return forget


def indexes(folder):
    return sorted(path.name for path in folder.rglob("*.psindex"))


def test_an_index_made_on_one_host_is_used_by_all(files, options, server, elsewhere):
    server.told(writable=True)
    assert list(ps.read_tfrecord(URL, storage_options=options)) == ROWS
    count = len(list(files.glob("*.tfrecord")))
    assert len(indexes(files)) == server.stats.puts == count > 1
    assert {path.parent.name for path in files.rglob("*.psindex")} == {".penstock"}
    elsewhere()
    server.told(writable=True)
    ds = ps.read_tfrecord(URL, storage_options=options)
    assert len(ds) == len(ROWS)
    sizes = sum(path.stat().st_size for path in files.rglob("*.psindex"))
    assert server.stats.bytes <= sizes + 16 * count  # and the first bytes of each object
    assert server.stats.lists == 2  # the pattern, and the indexes
    assert server.stats.puts == 0
    assert list(ds) == ROWS


def test_the_index_of_another_content_is_not_used(files, options, server, elsewhere):
    server.told(writable=True)
    assert len(ps.read_tfrecord(URL, storage_options=options)) == len(ROWS)
    elsewhere()
    first = min(files.glob("*.tfrecord"))
    first.unlink()
    ps.Dataset.from_source([b"new", b"other"]).write_tfrecord(first, index=False)
    found = list(ps.read_tfrecord(URL, storage_options=options))
    assert found[:2] == [b"new", b"other"]
    assert len(indexes(files)) == len(list(files.glob("*.tfrecord"))) + 1


def test_damaged_indexes_are_made_again(files, options, server, elsewhere):
    server.told(writable=True)
    assert len(ps.read_tfrecord(URL, storage_options=options)) == len(ROWS)
    for path in files.rglob("*.psindex"):
        path.write_bytes(path.read_bytes()[:-70] + bytes(70))
    elsewhere()
    server.told(writable=True)
    assert list(ps.read_tfrecord(URL, storage_options=options)) == ROWS
    assert server.stats.puts == len(indexes(files))  # replaced
    elsewhere()
    server.told(writable=True)
    assert list(ps.read_tfrecord(URL, storage_options=options)) == ROWS
    assert server.stats.puts == 0


def test_a_store_that_cannot_be_written_is_asked_once(files, options, server, cache):
    assert list(ps.read_tfrecord(URL, storage_options=options)) == ROWS
    assert 1 <= server.stats.puts <= 4  # files that are indexed at the same time
    assert indexes(files) == []
    assert len(indexes(cache)) == len(list(files.glob("*.tfrecord")))


def test_a_listing_that_is_refused_costs_only_the_indexes(files, options, server, monkeypatch):
    urls = [f"s3://data/{path.name}" for path in sorted(files.glob("*.tfrecord"))]
    ds = ps.read_tfrecord(urls, storage_options=options)

    def refuse(*_):
        raise PermissionError("no listing")

    monkeypatch.setattr(type(store_of(split_url(urls[0], options)[0])), "list", refuse)
    assert list(ds) == ROWS


def test_nothing_is_written_or_listed_if_the_options_say_so(files, options, server):
    server.told(writable=True)
    assert list(ps.read_tfrecord(URL, storage_options={**options, "index_beside": False})) == ROWS
    assert (server.stats.puts, server.stats.lists) == (0, 1)
    with pytest.raises(PlanError, match=r"index_beside.*expected True or False"):
        ps.read_tfrecord(URL, storage_options={**options, "index_beside": "no"})


def test_other_kinds_of_stores_are_not_written(folder, server):
    (folder / "a.txt").write_bytes(b"one\ntwo\n")
    options = {"cache_bytes": 0, "retry_seconds": 1}
    assert list(ps.read_text(f"http://127.0.0.1:{server.port}/data/a.txt", storage_options=options)) == ["one", "two"]
    assert server.stats.puts == 0


def test_indexes_are_no_data(files, options, server):
    server.told(writable=True)
    assert len(ps.read_tfrecord(URL, storage_options=options)) == len(ROWS)
    names = sorted(path.name for path in files.glob("*.tfrecord"))
    for url in ("s3://data/", "s3://data/**"):
        assert [each.rpartition("/")[2] for each in ps.Dataset.list_files(url, storage_options=options)] == names
