"""A cached object: what it gives was written and is whole, whatever crashes or other processes did."""

from __future__ import annotations

import os

import pytest

from penstock.storage.remote.cached_file import CachedFile


def content_of(seed, size):
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
