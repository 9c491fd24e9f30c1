"""A cache stops growing at its limit, on a full disk, and in a folder that is not writable; it goes on serving."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from penstock.cache.folder import bytes_in
from penstock.cache.growth import is_in_memory
from penstock.cache.store import CacheStore
from penstock.elements.chunks.chunk import Items
from tests.cache.kinds import chunk_of

ROW = 10_000


def filled(path, rows: int = 40, **settings):
    """Return a store into which that many rows of 10 KB were written one by one, and what it told."""
    told: list[str] = []
    store = CacheStore(path, "key", {}, tell=told.append, **settings)
    for row in range(rows):
        store.write(np.array([row]), chunk_of([np.full(ROW, row % 256, np.uint8)]))
    return store, told


def check_serving(store: CacheStore) -> None:
    chunk, found = store.read(np.arange(40))
    assert found.sum() == store.count
    assert [int(each[0]) for each in chunk.elements()] == np.flatnonzero(found).tolist()
    made = store.fetch(np.array([39, 0]), lambda rows: chunk_of([np.full(ROW, row, np.uint8) for row in rows]))
    assert [int(each[0]) for each in made.elements()] == [39, 0]


def test_the_limit_is_kept_and_told_once(tmp_path):
    store, told = filled(tmp_path, limit_bytes=200_000)
    assert 15 <= store.count <= 19
    assert len(told) == 1
    assert "limit_bytes=200,000" in told[0]
    assert store.bytes <= 200_000
    assert sum(os.path.getsize(tmp_path / "key.v1" / name) for name in os.listdir(tmp_path / "key.v1")) <= 200_000
    check_serving(store)


def test_the_rows_of_a_batch_that_fit_are_kept(tmp_path):
    store = CacheStore(tmp_path, "key", {}, limit_bytes=100_000, tell=lambda _: None)
    assert 7 <= store.write(np.arange(40), chunk_of([np.zeros(ROW, np.uint8)] * 40)) <= 9
    assert store.rows.tolist() == list(range(store.count))
    assert bytes_in(str(tmp_path)) <= 100_000


def test_the_limit_counts_other_keys_and_writers(tmp_path):
    CacheStore(tmp_path, "other", {}).write(np.arange(10), chunk_of([np.zeros(ROW, np.uint8)] * 10))
    store, told = filled(tmp_path, limit_bytes=200_000)
    assert 5 <= store.count <= 9
    assert len(told) == 1


def test_nothing_is_told_below_the_limit(tmp_path):
    store, told = filled(tmp_path, limit_bytes=10**7)
    assert (store.count, told, store.stopped) == (40, [], None)


def test_some_of_the_disk_stays_free(tmp_path, monkeypatch):
    def state(folder: str) -> SimpleNamespace:
        return SimpleNamespace(f_frsize=1000, f_blocks=10_000, f_bavail=400 - bytes_in(folder) // 1000)

    monkeypatch.setattr("penstock.cache.growth.os.statvfs", state)
    store, told = filled(tmp_path)
    assert 0 < store.count < 20
    assert "less than 200,000 bytes would be free" in told[0]
    check_serving(store)


@pytest.fixture
def small_disk(tmp_path):
    """A new file system of 256 KB in memory."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("needs the privilege to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_ends_the_growth_only(small_disk, monkeypatch):
    monkeypatch.setattr("penstock.cache.growth._LEFT_FREE", (0, 0.0))
    monkeypatch.setattr(
        "penstock.cache.growth._below", lambda ends, room: len(ends)
    )  # as if others filled it meanwhile
    store, told = filled(small_disk)
    assert 5 < store.count < 26
    assert len(told) == 1
    assert "the disk is full" in told[0]
    check_serving(store)
    monkeypatch.undo()
    again = CacheStore(small_disk, "key", {})
    assert again.read(np.arange(40))[1].sum() == store.count


def test_a_nearly_full_disk_is_left_some_room(small_disk):
    store, told = filled(small_disk)
    assert "would be free on the disk" in told[0]
    state = os.statvfs(small_disk)
    assert state.f_bavail > 0
    check_serving(store)


def test_a_folder_in_memory_is_recognized(small_disk, tmp_path):
    assert is_in_memory(str(small_disk / "not" / "there"))
    assert CacheStore(small_disk, "key", {}).is_memory
    assert is_in_memory(str(tmp_path)) == is_in_memory("/tmp")


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True  # or files cut off at the limit stay there, for all to read
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, resource.RLIM_INFINITY))
from tests.cache.test_growth import check_serving, filled
store, told = filled(sys.argv[1])
assert len(told) == 1 and "a file may not grow" in told[0], told
check_serving(store)
print(store.count)
"""


def test_a_limit_of_the_size_of_files_ends_the_growth_only(tmp_path):
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    ran = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], capture_output=True, text=True, check=True)
    assert 5 <= int(ran.stdout) < 10
    assert CacheStore(tmp_path, "key", {}).count == int(ran.stdout)


@pytest.mark.parametrize("code", [errno.EACCES, errno.EROFS])
def test_a_folder_that_is_not_writable_serves_what_is_there(tmp_path, monkeypatch, code):
    filled(tmp_path, rows=3)
    before = sorted(os.walk(tmp_path))
    real = os.open

    def refusing(path, flags, *args, **named):
        if flags & (os.O_WRONLY | os.O_CREAT):
            raise OSError(code, os.strerror(code))
        return real(path, flags, *args, **named)

    monkeypatch.setattr("penstock.cache.writing.os.open", refusing)
    store, told = filled(tmp_path)
    store.complete(40)
    assert store.count == 3
    assert len(told) == 1
    assert errno.errorcode[code] in told[0]
    check_serving(store)
    assert sorted(os.walk(tmp_path)) == before


def test_a_store_for_reading_only_writes_and_tells_nothing(tmp_path):
    filled(tmp_path, rows=3)
    before = sorted(os.walk(tmp_path))
    store, told = filled(tmp_path, readonly=True)
    store.complete(3)
    check_serving(store)
    assert (store.count, told, sorted(os.walk(tmp_path))) == (3, [], before)
    assert "readonly=True" in store.stopped


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    store, told = filled(tmp_path / "file" / "cache")
    assert store.count == 0
    assert len(told) == 1


@pytest.mark.parametrize("whole", [True, False])
def test_a_folder_that_is_removed_while_it_is_written_is_made_again(tmp_path, whole):
    folder = tmp_path / "kept"
    told = []
    store = CacheStore(folder, "key", {}, tell=told.append)
    assert store.write(np.arange(4), Items([{"x": i} for i in range(4)])) == 4
    for path in [folder] if whole else list(folder.iterdir()):
        shutil.rmtree(path)
    assert store.write(np.arange(4, 9), Items([{"x": i} for i in range(4, 9)])) == 5
    assert CacheStore(folder, "key", {}).rows.tolist() == [4, 5, 6, 7, 8]
    chunk = store.fetch(np.arange(9), lambda rows: Items([{"x": i} for i in rows.tolist()]))
    assert chunk.elements() == [{"x": i} for i in range(9)]
    assert not told
