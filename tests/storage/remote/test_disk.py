"""The cache of objects on the local disk: within its bounds, and what it deletes is its own."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from penstock.core.errors import CacheWarning
from penstock.storage.remote.cache_space import DISK_BLOCK
from penstock.storage.remote.cached_file import CachedFile
from penstock.storage.remote.disk import DiskCache, disk_cache_of
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile
from penstock.storage.remote.orders import USE, ToldOrder

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


@pytest.fixture
def told(tmp_path):
    """Tells an order: the next use of each object, and the use after it, in seconds from now."""
    order = ToldOrder(str(tmp_path))

    def tell(**uses):
        now = time.time()
        names = {name: DiskCache(str(tmp_path), 0).name_of(object_of(name)).encode() for name in uses}
        order.tell(np.array([(names[name], now + at, now + again) for name, (at, again) in uses.items()], USE))

    yield tell
    order.close()


def kept_of(cache, names):
    return [name for name in names if cache.covers(object_of(name), 0, SIZE)]


def room_for(objects):
    """The bytes of this many objects, each with its journal and folder, and of what else the cache writes."""
    return objects * (SIZE + 2 * DISK_BLOCK) + 10 * DISK_BLOCK


def test_what_is_read_last_makes_room_for_what_is_read_again_before(tmp_path, told):
    cache = filled(tmp_path, "abc", room_for(3))
    told(a=(10, 500), b=(300, 500), c=(20, 500), d=(0, 100))
    cache.write(object_of("d"), 0, content_of(9))
    assert kept_of(cache, "abcd") == ["a", "c", "d"]


def test_a_newcomer_that_is_read_again_after_all_others_is_not_kept(tmp_path, told):
    cache = filled(tmp_path, "abc", room_for(3))
    told(a=(10, 500), b=(300, 500), c=(20, 500), d=(0, 301))
    cache.write(object_of("d"), 0, content_of(9))
    assert kept_of(cache, "abcd") == ["a", "b", "c"]


def test_objects_that_no_run_will_read_go_before_those_that_one_will(tmp_path, told):
    cache = filled(tmp_path, "abc", room_for(3))
    assert kept_of(cache, "abc") == ["a", "b", "c"]  # used by this process, too
    told(a=(400, 500), c=(400, 500), d=(0, 100))
    cache.write(object_of("d"), 0, content_of(9))
    assert kept_of(cache, "abcd") == ["a", "c", "d"]


def test_a_newcomer_of_no_run_does_not_displace_what_runs_will_read(tmp_path, told):
    filled(tmp_path, "ab", room_for(2))
    told(a=(400, 500), b=(400, 500))
    cache = DiskCache(str(tmp_path), room_for(2))
    cache.write(object_of("x"), 0, content_of(9))
    assert kept_of(cache, "abx") == ["a", "b"]


def hits(tmp_path, order_of, epochs, most):
    """Read whole objects in the order of each epoch, all of it told, and return the hits after the first epoch."""
    cache, order = DiskCache(str(tmp_path), most), ToldOrder(str(tmp_path))
    found, now = 0, time.time()
    for epoch in range(epochs):
        this, after = order_of(epoch), order_of(epoch + 1)
        for at, number in enumerate(this):
            again = {n: now + 1000 * (len(this) - at + after.index(n)) for n in this}
            left = {n: now + 1000 * place for place, n in enumerate(this[at + 1 :], 1)}
            names = {n: cache.name_of(object_of(str(n))).encode() for n in this}
            order.tell(np.array([(names[n], left.get(n, again[n]), again[n]) for n in this], USE))
            if cache.read(object_of(str(number)), 0, SIZE) is not None:
                found += epoch > 0
            else:
                cache.write(object_of(str(number)), 0, content_of(number))
    order.close()
    return found


@pytest.mark.parametrize("same", [True, False], ids=["the same order", "another order each epoch"])
def test_the_share_that_fits_is_found_in_each_later_epoch(tmp_path, same, monkeypatch):
    monkeypatch.setattr("penstock.storage.remote.orders._FRESH", 0.0)
    monkeypatch.setattr("penstock.storage.remote.disk._TRY_AGAIN", 0.0)

    def order_of(epoch):
        return np.random.default_rng(0 if same else epoch).permutation(20).tolist()

    assert hits(tmp_path, order_of, 4, room_for(10)) >= 3 * 9


def bytes_below(folder):
    """The bytes that a folder takes on the disk, with all that is in it."""
    return sum(
        512 * os.lstat(os.path.join(at, name)).st_blocks for at, _, names in os.walk(folder) for name in ["", *names]
    )


def test_all_that_the_cache_writes_stays_within_the_bound_for_several_processes(tmp_path):
    most, whole = 40 * DISK_BLOCK, content_of(0)
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "of a file").write_bytes(bytes(5 * DISK_BLOCK))
    caches = [DiskCache(str(tmp_path), most, str(tmp_path / "index")) for _ in range(3)]  # as of processes

    def work(number):
        for begin in range(0, SIZE - 5000, 1000):
            file, end = object_of(str((begin // 1000 + number) % 20)), begin + (50 if begin % 3000 else 4500)
            caches[number].write(file, begin, whole[begin:end])
            assert bytes_below(tmp_path) <= most

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(work, range(3)))
    assert bytes_below(tmp_path) > most // 2


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
