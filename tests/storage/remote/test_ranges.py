"""Which requests are made for which extents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.storage.remote.disk import disk_cache_of
from penstock.storage.remote.fetcher import _cut_out
from penstock.storage.remote.file import Access, ObjectInfo, RemoteFile
from penstock.storage.remote.ranges import LARGEST_REQUEST, plan_requests

FILE = RemoteFile("s3://data/k", Access("s3://data", {"cache_bytes": 0}), ObjectInfo("k", 1 << 40, None))


def pieces_of(extents):
    return {(piece.begin, piece.end): piece for cut in plan_requests(extents).values() for piece in cut}


def test_near_extents_share_a_request():
    assert list(pieces_of([(FILE, 0, 1000), (FILE, 1500, 2000), (FILE, 1 << 20, 2 << 20)])) == [
        (0, 2000), (1 << 20, 2 << 20),
    ]  # fmt: skip


def test_large_extents_are_cut():
    sizes = [end - begin for begin, end in pieces_of([(FILE, 5, 5 + 2 * LARGEST_REQUEST + 1)])]
    assert sizes == [LARGEST_REQUEST, LARGEST_REQUEST, 1]


def test_requests_are_in_the_order_of_the_extents():
    far = 1 << 30
    order = [(FILE, 3 * far, 3 * far + 9), (FILE, 0, 9), (FILE, 2 * far, 2 * far + 9)]
    assert [cut[0].begin for cut in plan_requests(order).values()] == [3 * far, 0, 2 * far]


def test_near_extents_on_the_local_disk_share_a_request(tmp_path):
    access = Access("s3://data", {"cache_dir": str(tmp_path)})
    file = RemoteFile("s3://data/k", access, ObjectInfo("k", 1 << 20, '"tag"'))
    cache = disk_cache_of(file)
    assert cache is not None
    cache.write(file, 1000, memoryview(bytes(500)))
    kept = pieces_of([(file, at, at + 50) for at in range(1000, 1500, 50)])
    assert [(span, piece.is_cached) for span, piece in kept.items()] == [((1000, 1500), True)]
    mixed = pieces_of([(file, at, at + 50) for at in range(900, 1100, 50)])
    assert {span: piece.is_cached for span, piece in mixed.items()} == {
        (900, 1000): False, (1000, 1050): True, (1050, 1100): True,
    }  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 60_000), st.integers(0, 9000)), max_size=30))
def test_extents_are_cut_out_of_their_requests_without_much_waste(spans):
    content = bytes(i * 31 % 256 for i in range(70_000))
    extents = [(FILE, begin, begin + size) for begin, size in spans]
    planned = plan_requests(extents)
    wanted = set()
    for (_, begin, end), cut in planned.items():
        extent = FILE, begin, end
        for piece in cut:
            piece.content = memoryview(content)[piece.begin : piece.end]
        assert _cut_out(extent, cut) == content[extent[1] : extent[2]]
        wanted.update(range(extent[1], extent[2]))
    fetched = sum(end - begin for begin, end in pieces_of(extents))
    groups = len(extents)
    assert fetched <= 1.15 * len(wanted) + 4096 * groups
