"""The cache of objects on the local disk: within its bounds, and what it deletes is its own."""

from __future__ import annotations

import os
import threading

import pytest

from penstock.core.errors import CacheWarning
from penstock.storage.remote.cached_file import CachedFile
from penstock.storage.remote.disk import DiskCache, disk_cache_of
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile

SIZE = 1 << 16


def object_of(name, size=SIZE):
    return RemoteFile(f"s3://data/{name}", Access("s3://data", {}), ObjectInfo(name, size, '"1"'))


def content_of(seed, size=SIZE):
    return memoryview(bytes((seed * 7 + i) % 251 for i in range(size)))


def test_threads_that_write_and_read(tmp_path):
    cache = DiskCache(str(tmp_path / "objects"), 1 << 30)
    file, data = object_of("k"), content_of(3)
    wrong = []

    def work(first):
        for begin in range(first, SIZE, 4096):
            cache.write(file, begin, data[begin : begin + 1024])
            found = cache.read(file, begin, begin + 1024)
            if found is not None and found != data[begin : begin + 1024]:
                wrong.append(begin)

    threads = [threading.Thread(target=work, args=(1024 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert cache.read(file, 0, SIZE) == data


def filled(folder, names, most=1 << 30):
    """Return a cache in which these objects are, as an earlier process has left them."""
    cache = DiskCache(str(folder), most)
    for i, name in enumerate(names):
        cache.write(object_of(name), 0, content_of(i))
        os.utime(cache.place_of(object_of(name)), (1000 + i, 1000 + i))
    return cache


def test_the_objects_used_longest_ago_make_room(tmp_path):
    filled(tmp_path, "abcd")
    cache = DiskCache(str(tmp_path), 5 * SIZE)
    cache.write(object_of("e"), 0, content_of(9))
    assert not cache.covers(object_of("a"), 0, 1)
    assert cache.read(object_of("e"), 0, SIZE) == content_of(9)
    assert cache.covers(object_of("d"), 0, SIZE)


def test_objects_of_this_process_are_kept_when_the_cache_is_full(tmp_path):
    cache = DiskCache(str(tmp_path), 3 * SIZE)
    for i, name in enumerate("abcdef"):
        cache.write(object_of(name), 0, content_of(i))
    there = [name for name in "abcdef" if cache.covers(object_of(name), 0, SIZE)]
    assert there in (["a", "b"], ["a", "b", "c"])


def test_files_of_others_stay(tmp_path):
    filled(tmp_path, "ab")
    mine = tmp_path / "00" / "mine.bin"
    mine.parent.mkdir(exist_ok=True)
    mine.write_bytes(b"x" * SIZE)
    (tmp_path / "precious").write_bytes(b"y" * SIZE)
    DiskCache(str(tmp_path), SIZE // 2).write(object_of("c"), 0, content_of(1, SIZE // 4))
    assert mine.exists()
    assert (tmp_path / "precious").exists()


def test_a_file_that_another_process_reads_is_kept(tmp_path):
    reading = CachedFile(filled(tmp_path, "a").place_of(object_of("a")), SIZE)
    os.utime(reading.path, (1000, 1000))
    cache = DiskCache(str(tmp_path), SIZE)
    cache.write(object_of("b"), 0, content_of(1))
    assert reading.read(0, SIZE) == content_of(0)
    assert os.path.exists(reading.path)


def test_a_disk_that_cannot_be_written_ends_caching_with_one_warning(tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path / "objects"), 1 << 30)

    def refuse(*_):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(CachedFile, "write", refuse)
    with pytest.warns(CacheWarning, match=r"takes no more: Read-only file system; objects are read again"):
        cache.write(object_of("a"), 0, content_of(0))
    cache.write(object_of("b"), 0, content_of(0))  # without another warning, which would be an error


def test_the_floor_of_free_space_is_kept(tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path / "objects"), 1 << 30)
    monkeypatch.setattr(cache, "_short_of_space", lambda size: size)
    cache.write(object_of("a"), 0, content_of(0))
    assert not cache.covers(object_of("a"), 0, 1)


def test_objects_without_a_tag_are_not_kept():
    access = Access("s3://data", {})
    assert disk_cache_of(RemoteFile("s3://data/k", access, ObjectInfo("k", 1, None))) is None
    assert disk_cache_of(RemoteFile("s3://data/k", access, ObjectInfo("k", 1, "1"))) is not None
