"""The cache of objects on the local disk: what it gives was written and is whole, and what it deletes is its own."""

from __future__ import annotations

import os
import threading

import pytest

from penstock.core.errors import CacheWarning
from penstock.storage.remote.cached_file import CachedFile
from penstock.storage.remote.disk import DiskCache
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile

SIZE = 1 << 16


def object_of(name, size=SIZE):
    return RemoteFile(f"s3://data/{name}", Access("s3://data", {}), ObjectInfo(name, size, '"1"'))


def content_of(seed, size=SIZE):
    return memoryview(bytes((seed * 7 + i) % 251 for i in range(size)))


@pytest.fixture
def kept(tmp_path):
    return CachedFile(str(tmp_path / "one"), 1000)


def test_ranges_are_there_once_written(kept):
    data = content_of(1, 1000)
    assert not kept.covers(0, 1)
    kept.write(100, data[100:200])
    kept.write(150, data[150:300])
    kept.write(300, data[300:301])
    assert kept.read(100, 301) == data[100:301]
    assert kept.read(120, 130) == data[120:130]
    assert not kept.covers(99, 101)
    assert not kept.covers(300, 302)
    assert kept.read(0, 50) is None


def test_other_processes_find_what_was_written(kept):
    other = CachedFile(kept.path, 1000)
    kept.write(0, content_of(1, 1000)[:10])
    assert other.read(0, 10) == content_of(1, 1000)[:10]
    other.write(10, content_of(1, 1000)[10:20])
    assert kept.read(5, 20) == content_of(1, 1000)[5:20]


@pytest.mark.parametrize("at", [5, 1000, 1015, 1019, 1023])
def test_damage_is_a_miss(kept, at):
    kept.write(0, content_of(1, 1000)[:10])
    with open(kept.path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))
    assert CachedFile(kept.path, 1000).read(0, 10) is None


def test_a_hole_is_a_miss(kept):
    kept.write(0, content_of(1, 1000)[:500])
    with open(kept.path, "r+b") as file:
        file.write(bytes(500))
    assert CachedFile(kept.path, 1000).read(0, 500) is None


@pytest.mark.parametrize("cut", [0, 10, 999, 1000, 1001, 1023])
def test_a_crash_while_writing_leaves_no_false_range(kept, cut):
    kept.write(0, content_of(1, 1000)[:500])
    os.truncate(kept.path, cut)
    again = CachedFile(kept.path, 1000)
    assert again.read(0, 500) is None
    again.write(0, content_of(1, 1000)[:500])
    assert again.read(0, 500) == content_of(1, 1000)[:500]


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
