"""The order of reads that a run tells the local cache: when each object is read next, and when again."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.engine.tasks import next_uses as module
from penstock.engine.tasks.next_uses import RENEWED_EVERY, NextUses
from penstock.storage.remote import orders
from penstock.storage.remote.disk import disk_cache_of
from penstock.storage.remote.orders import ToldOrders

FILES, ROWS, SIZE = 8, 100, 10  # rows of each


@pytest.fixture
def ds(tmp_path, monkeypatch):
    fsspec = pytest.importorskip("fsspec")
    monkeypatch.setattr(orders, "_FRESH", 0.0)
    store = fsspec.filesystem("memory")
    for file in range(FILES):
        store.pipe(f"/uses/{file}.bin", bytes([file]) * ROWS * SIZE)
    options = {"cache_dir": str(tmp_path)}
    return ps.read_fixed_length("memory://uses/*.bin", SIZE, storage_options=options)


@pytest.fixture
def told(tmp_path):
    """The order told by all runs: `(next, again)` of each file, in seconds since 0."""
    orders_of = ToldOrders(str(tmp_path))

    def read(ds):
        paths = source_of(ds).paths
        names = [disk_cache_of(path).name_of(path) for path in paths]
        uses = orders_of.uses()
        return [uses.get(name) for name in names]

    return read


def source_of(ds):
    node = ds._plan
    while node.inputs:
        node = node.inputs[0]
    return node.source


def looked(ds, position=0, begin=0, size=1, rate=1.0):
    """Return what tells the order of a run that has made `rate` positions a second."""
    now = 0.0
    made = NextUses(ds._plan, ds._plan, size, lambda: now)
    made.look(position - 1, begin)
    now += max(RENEWED_EVERY, 1 / rate)
    made.look(round(position - 1 + now * rate), begin)
    return made


def test_files_read_in_order_are_read_next_by_their_place_and_again_in_the_next_epoch(ds, told):
    uses = looked(ds, position=401)
    seen, now, position = told(ds), RENEWED_EVERY, 400 + RENEWED_EVERY
    for file, (first, again) in enumerate(seen):
        part = FILES * ROWS / module.PARTS_OF_EPOCH
        in_next = FILES * ROWS - position + file * ROWS
        assert abs(again - now - in_next) <= part
        expected = file * ROWS - position if file > 4 else 0 if file == 4 else in_next
        assert abs(first - now - expected) <= part
    uses.close()
    assert told(ds) == [None] * FILES


def test_batches_are_positions_of_several_rows(ds, told):
    uses = looked(ds.batch(10), position=41)
    seen = told(ds)
    assert seen[3].next == seen[3].again
    assert seen[6].next < seen[7].next < seen[0].next < seen[1].next
    uses.close()


def test_a_shuffle_over_everything_reads_each_object_all_the_time(ds, told):
    shuffled = ds.shuffle(seed=1)
    uses = looked(shuffled, position=101)
    seen = told(ds)
    assert max(use.next for use in seen) < min(use.again for use in seen)
    uses.close()


def test_an_endless_order_is_not_told(ds, told):
    looked(ds.repeat()).close()
    uses = looked(ds.repeat())
    assert told(ds) == [None] * FILES
    uses.close()


def test_a_run_tells_its_order_and_takes_it_back(ds, told):
    with ds.batch(10).iterator() as it:
        next(it)
        assert None not in told(ds)
    assert told(ds) == [None] * FILES
    with ds.map(len).filter(bool).iterator() as it:
        next(it)
        assert None not in told(ds)


def test_a_cache_that_is_off_is_told_nothing(ds, tmp_path):
    options = {"cache_dir": str(tmp_path), "cache_bytes": 0}
    assert len(list(ps.read_fixed_length("memory://uses/*.bin", SIZE, storage_options=options))) == FILES * ROWS
    assert not (tmp_path / "orders").exists()


def test_the_orders_of_datasets_that_are_elements_end_with_them(ds, tmp_path):
    open_orders = [0]

    def seen(x):
        open_orders.append(len(list(tmp_path.glob("orders/*.order"))))
        return x

    several = ps.Dataset.range(6).flat_map(lambda _: ds).map(seen, vectorized=False)
    assert sum(1 for _ in several.with_options(ps.Options(executor="inline"))) == 6 * FILES * ROWS
    assert max(open_orders) == 1
