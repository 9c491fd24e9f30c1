"""The bytes of a cache, counted by several processes."""

from __future__ import annotations

import os

from penstock.storage.remote.cache_space import DISK_BLOCK, CacheSpace, blocks_in, most_taken_by


def test_a_write_that_a_process_did_not_end_does_not_count_for_ever(tmp_path):
    space = CacheSpace(str(tmp_path / "room"))
    with space.locked() as counts:
        space.begin(1000)
        (tmp_path / "room" / "1-killed.writer").write_bytes((1 << 40).to_bytes(8, "little"))
        assert (counts.since, space.under_way()) == (None, 1000)
    assert not (tmp_path / "room" / "1-killed.writer").exists()
    space.end(1000)
    assert space.under_way() == 0
    del space
    assert os.listdir(tmp_path / "room") == ["taken"]


def test_counts_are_those_of_all_and_stay(tmp_path):
    one, other = CacheSpace(str(tmp_path / "room")), CacheSpace(str(tmp_path / "room"))
    with one.locked() as counts:
        assert counts.since is None
        counts.counted(500)
        counts.add(20)
        one.begin(20)
    with other.locked() as counts:
        assert (counts.taken, counts.since, other.under_way()) == (520, 20, 20)
        counts.since = None
    with one.locked() as counts:
        assert (counts.taken, counts.since) == (520, None)


def test_a_range_takes_no_more_than_is_said(tmp_path):
    for size in (1, DISK_BLOCK, DISK_BLOCK + 1):
        (folder := tmp_path / str(size)).mkdir()
        with open(folder / "file", "wb") as file:
            file.seek(10 * DISK_BLOCK - 1)
            file.write(bytes(size))
        assert 0 < blocks_in(str(folder)) <= most_taken_by(size)
    assert blocks_in(str(tmp_path / "none")) == 0
