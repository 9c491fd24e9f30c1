"""Damage costs the rows that it hit, and nothing else; several writers fill one cache."""

from __future__ import annotations

import glob
import multiprocessing
import os
import shutil

import numpy as np
import pytest

from penstock.cache.logs import DATA, LOG
from penstock.cache.store import CacheStore
from penstock.kernels.cached_rows import LOG_RECORD
from tests.cache.kinds import chunk_of, exactly, images


def opened(path, **settings) -> CacheStore:
    return CacheStore.open(path, "key", {}, **settings)


def files(path, suffix: str) -> list[str]:
    return sorted(glob.glob(f"{path}/key.v1/*{suffix}"))


def sound_rows(path, elements) -> list[int]:
    """Return the rows that a new store reads; each must be as it was written."""
    store = opened(path, readonly=True)
    chunk, found = store.read(np.arange(len(elements)))
    rows = np.flatnonzero(found).tolist()
    assert [exactly(each) for each in chunk.elements()] == [exactly(elements[row]) for row in rows]
    assert store.present(np.arange(len(elements))).tolist() == found.tolist()
    return rows


@pytest.fixture
def elements():
    return images(12)


@pytest.fixture
def whole(tmp_path, elements):
    store = opened(tmp_path / "whole")
    for row, element in enumerate(elements):
        store.write(np.array([row]), chunk_of([element]))
    return tmp_path / "whole"


def damaged_copy(whole, tmp_path, suffix, change):
    """Return a copy of the cache whose file with this suffix has been changed by `change(content)`."""
    copy = tmp_path / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(whole, copy)
    (path,) = files(copy, suffix)
    with open(path, "rb") as file:
        content = bytearray(file.read())
    changed = change(content)
    with open(path, "wb") as file:
        file.write(content if changed is None else changed)
    return copy


def spans(whole) -> list[tuple[int, int]]:
    """Return where the data of each row is."""
    (path,) = files(whole, LOG)
    records = np.fromfile(path, LOG_RECORD)
    return [(int(r["offset"]), int(r["offset"] + r["length"])) for r in records if r["row"] >= 0]


def test_a_log_cut_at_any_byte_keeps_the_rows_before(whole, tmp_path, elements):
    (path,) = files(whole, LOG)
    size = os.path.getsize(path)
    for end in range(size - 4 * LOG_RECORD.itemsize, size + 1):
        copy = damaged_copy(whole, tmp_path, LOG, lambda content, end=end: content[:end])
        assert sound_rows(copy, elements) == list(range((end - 2 * LOG_RECORD.itemsize) // LOG_RECORD.itemsize))


def test_data_cut_at_any_byte_keeps_the_rows_before(whole, tmp_path, elements):
    ends = [end for _, end in spans(whole)]
    for end in range(ends[-2] - 3, ends[-1] + 1):
        copy = damaged_copy(whole, tmp_path, DATA, lambda content, end=end: content[:end])
        assert sound_rows(copy, elements) == [row for row, last in enumerate(ends) if last <= end]


def test_a_flipped_bit_of_the_data_costs_its_row_only(whole, tmp_path, elements):
    rng = np.random.default_rng(0)
    size = os.path.getsize(files(whole, DATA)[0])
    for at in rng.integers(0, size, 100).tolist():
        copy = damaged_copy(whole, tmp_path, DATA, lambda content, at=at: content.__setitem__(at, content[at] ^ 16))
        hit = [row for row, (begin, end) in enumerate(spans(whole)) if begin <= at < end]
        assert sound_rows(copy, elements) == [row for row in range(12) if row not in hit]


def test_a_flipped_bit_of_the_log_costs_its_row_only(whole, tmp_path, elements):
    size = os.path.getsize(files(whole, LOG)[0])
    for at in range(0, size, 3):
        copy = damaged_copy(whole, tmp_path, LOG, lambda content, at=at: content.__setitem__(at, content[at] ^ 1))
        hit = at // LOG_RECORD.itemsize - 2  # after the two copies of the form
        assert sound_rows(copy, elements) == [row for row in range(12) if row != hit]


@pytest.mark.parametrize("suffix", [DATA, LOG])
def test_zeroed_blocks_cost_the_rows_in_them(tmp_path, suffix):
    elements = images(200, side=6)
    store = opened(tmp_path / "whole")
    for row in range(0, 200, 10):
        store.write(np.arange(row, row + 10), chunk_of(elements[row : row + 10]))
    (path,) = files(tmp_path / "whole", suffix)
    places = spans(tmp_path / "whole")
    for begin in range(0, os.path.getsize(path), 4096):
        copy = damaged_copy(
            tmp_path / "whole",
            tmp_path,
            suffix,
            lambda content, begin=begin: content[:begin] + bytes(4096) + content[begin + 4096 :],
        )
        if suffix == DATA:
            hit = [row for row, (low, high) in enumerate(places) if low < begin + 4096 and begin < high]
        else:
            first = begin // LOG_RECORD.itemsize - 2
            hit = list(range(first, first + 4096 // LOG_RECORD.itemsize))
            if begin == 0:  # the forms too, without which no row can be read
                hit = list(range(200))
        assert sound_rows(copy, elements) == [row for row in range(200) if row not in hit]


def test_damaged_rows_are_counted_written_again_and_read_again(whole, tmp_path, elements):
    begin, _ = spans(whole)[5]
    copy = damaged_copy(whole, tmp_path, DATA, lambda content: content.__setitem__(begin, content[begin] ^ 1))
    store = opened(copy)
    assert store.damaged == 0
    assert store.read(np.arange(12))[1].tolist() == [row != 5 for row in range(12)]
    assert (store.damaged, store.count) == (1, 11)
    assert store.write(np.arange(12), chunk_of(elements)) == 1
    assert sound_rows(copy, elements) == list(range(12))


@pytest.mark.parametrize("suffix", [DATA, LOG])
def test_files_that_are_removed_or_cut_while_open_are_missing_rows(whole, elements, suffix):
    store = opened(whole)
    os.truncate(files(whole, suffix)[0], 64)
    assert not store.read(np.arange(2, 12))[1].any()
    made = store.fetch(np.arange(12), lambda rows: chunk_of([elements[row] for row in rows]))
    assert [exactly(each) for each in made.elements()] == [exactly(each) for each in elements]


def test_a_removed_cache_is_made_again_by_those_who_have_it_open(whole, elements):
    store = opened(whole)
    store.read(np.arange(12))
    shutil.rmtree(whole)
    assert store.read(np.arange(12))[1].all()  # still mapped
    assert store.write(np.array([12]), chunk_of(elements[:1])) == 1
    assert opened(whole).rows.tolist() == [12]


def test_a_record_that_is_still_being_written_is_seen_later(whole, tmp_path, elements):
    (path,) = files(whole, LOG)
    with open(path, "rb") as file:
        content = file.read()
    with open(path, "wb") as file:
        file.write(content[:-40] + bytes(40))  # a network file system may show zeros
    store = opened(whole, readonly=True)
    assert store.count == 10
    with open(path, "r+b") as file:
        file.write(content)
    assert store.refresh() == 2
    assert store.damaged == 0


def test_a_later_copy_of_a_row_replaces_a_damaged_one(whole, tmp_path, elements):
    begin, _ = spans(whole)[5]
    copy = damaged_copy(whole, tmp_path, DATA, lambda content: content.__setitem__(begin, content[begin] ^ 1))
    one, other = opened(copy), opened(copy)
    one.read(np.arange(12))
    one.write(np.array([5]), chunk_of(elements[5:6]))
    other.refresh()
    assert other.read(np.arange(12))[1].all()


def fill(path, seed: int, count: int) -> None:
    store, elements = opened(path), images(count)
    rng = np.random.default_rng(seed)
    for low in range(0, count, 10):
        wanted = rng.permutation(count)[:20] if low % 20 else np.arange(low, low + 10)
        made = store.fetch(wanted, lambda rows: chunk_of([elements[row] for row in rows]))
        assert [each["label"] for each in made.elements()] == wanted.tolist()
    store.close()


def test_several_processes_fill_one_cache_at_once(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=fill, args=(tmp_path, seed, 100)) for seed in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert len(files(tmp_path, LOG)) >= 2
    assert sound_rows(tmp_path, images(100)) == opened(tmp_path).rows.tolist()
    assert len(sound_rows(tmp_path, images(100))) >= 60
    assert opened(tmp_path).damaged == 0


def test_the_table_of_many_rows_is_one_array(tmp_path):
    store = opened(tmp_path)
    rows = np.arange(0, 600_000, 3)
    store.write(rows, chunk_of(rows.tolist()))
    again = opened(tmp_path)
    assert again.count == len(rows)
    assert again.read(rows[[5, 199_999]])[0].elements() == [15, 599_997]
    assert again.prefix == 1
