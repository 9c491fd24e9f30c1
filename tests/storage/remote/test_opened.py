"""Remote objects as files: every way to read gives the bytes of the object, in few requests."""

from __future__ import annotations

import io
import os

import pytest

from penstock.storage.remote.listing import find_objects
from penstock.storage.remote.opened import PagedReader, RemoteReader, local_copy, open_file

CONTENT = os.urandom(20_000_003)


@pytest.fixture
def file(folder, server, options):
    (folder / "k").write_bytes(CONTENT)
    (found,) = find_objects(["s3://data/k"], options)
    server.told()
    return found


@pytest.mark.parametrize("size", [1 << 17, 3_000_001, 9_000_000])
def test_a_file_read_in_order_takes_few_requests(file, server, size):
    reader, parts = RemoteReader(file), []
    while part := reader.read(size):
        parts.append(part)
    assert b"".join(parts) == CONTENT
    assert server.stats.gets <= 4
    assert server.stats.bytes < 1.1 * len(CONTENT)


def test_a_file_read_here_and_there(file, server):
    reader = RemoteReader(file)
    reader.seek(-100, os.SEEK_END)
    assert reader.read(60) == CONTENT[-100:-40]
    assert reader.tell() == len(CONTENT) - 40
    assert reader.read() == CONTENT[-40:]
    assert reader.read(1) == b""
    reader.seek(5000)
    assert reader.read(7) == CONTENT[5000:5007]
    held = RemoteReader(file, [(100, memoryview(CONTENT)[100:200])])
    held.seek(150)
    gets = server.stats.gets
    assert held.read(10) == CONTENT[150:160]
    assert server.stats.gets == gets


def test_small_parts_share_pages_and_large_ones_are_held_as_asked(file, server):
    reader = PagedReader(file)
    for begin in (70_000, 65_530, 100_000):
        reader.seek(begin)
        assert reader.read(50) == CONTENT[begin : begin + 50]
    assert server.stats.gets == 2
    other = reader.again()
    other.seek(66_000)
    with other.holding([(file, 5_000_000, 5_300_000)]):
        assert other.read(9) == CONTENT[66_000:66_009]
        other.seek(5_000_010)
        assert other.read(200_000) == CONTENT[5_000_010:5_200_010]
    assert server.stats.gets == 3
    assert reader.tell() == 100_050


def test_python_reads_it_as_a_file(file):
    with open_file(file) as opened:
        assert isinstance(opened, io.BufferedReader)
        assert opened.read(10) == CONTENT[:10]
        opened.seek(19_999_999)
        assert opened.read() == CONTENT[19_999_999:]


def test_a_local_copy_is_whole_and_deleted(file, cache):
    seen = []
    with local_copy(file, seen.append) as path:
        with open(path, "rb") as copy:
            assert copy.read() == CONTENT
        assert path.startswith(str(cache))
    assert not os.path.exists(path)
    assert seen[-1] == len(CONTENT)
