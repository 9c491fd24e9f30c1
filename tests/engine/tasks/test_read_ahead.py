"""Announcements to sources of the rows after the window: exactly those rows, each once, up to the limit."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from multiprocessing import get_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.tasks.cost import Cost
from penstock.engine.tasks.read_ahead import (
    AHEAD_BYTES,
    BLOCK,
    FETCHED_AHEAD,
    FEW_ROWS,
    GAIN,
    MOST_ROWS,
    MOST_SAMPLES,
    QUIET,
    STRIDES,
    ReadAhead,
    spacing,
    telling,
)
from penstock.engine.tuning.tuner import Tuner
from penstock.ops.read.source import Read
from penstock.plan.graph import rebuild
from penstock.rewrite.seeds import bind_seeds
from penstock.testing.plans import datasets
from tests.draws import draws

COUNT = 20_000
AHEAD = 2048  # items that are told of: more than the largest task has
ITEM = AHEAD_BYTES // AHEAD  # bytes
COLD = Cost(1000, 1000, reads=ITEM // BLOCK)
WARM = Cost(1000, 1000)


class Recorded:
    """A source of numbers that records reads and announcements in order."""

    def __init__(self, count=COUNT):
        self.count = count
        self.events = []

    def __len__(self):
        return self.count

    def read_many(self, rows):
        self.events.append(("read", rows.tolist()))
        return np.asarray(rows) * 10

    def advise(self, rows):
        self.events.append(("told", rows.tolist()))

    def rows(self, kind):
        return [row for event, rows in self.events if event == kind for row in rows]


class Written(Recorded):
    """A source that records reads and announcements in a file, across processes."""

    def __init__(self, path, count=COUNT):
        super().__init__(count)
        self.path = path

    def advise(self, rows):
        line = b" ".join(str(row).encode() for row in rows.tolist()) + b"\n"
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line)
        os.close(file)

    def __getitem__(self, row):
        return row * 10

    def rows(self, kind):
        with open(self.path, encoding="utf-8") as file:
            return list(map(int, file.read().split()))


class Listening:
    """A source that accepts announcements."""

    def __init__(self, source):
        self.name, self.length, self.spec = source.name, source.length, source.spec

    def advise(self, rows):
        assert rows.dtype == np.int64
        assert ((rows >= 0) & (rows < self.length)).all() or self.length < 0


@pytest.fixture
def cold(monkeypatch):
    """Count every item as read from a disk; tasks hold at most the announced items, however fast they are."""
    observe, group_items = ReadAhead.observe, Tuner.group_items

    def observed(self, cost, positions):
        observe(self, Cost(cost.wall, cost.cpu, reads=int(positions * ITEM) // BLOCK), positions)

    monkeypatch.setattr(ReadAhead, "observe", observed)
    monkeypatch.setattr(Tuner, "group_items", lambda self, **told: min(group_items(self, **told), FEW_ROWS // 8))


INLINE = ps.Options(executor="inline")


def told_and_read(pipeline, source, options=INLINE):
    elements = list(pipeline(ps.Dataset.from_source(source)).with_options(options))
    return source.rows("told"), source.rows("read"), elements


PIPELINES = {
    "as it is": lambda ds: ds,
    "shuffled": lambda ds: ds.shuffle(seed=1),
    "a shard of a shuffle": lambda ds: ds.shuffle(seed=1).shard(3, 1),
    "batches": lambda ds: ds.shuffle(seed=1).batch(8),
    "some of batches": lambda ds: ds.batch(8).shard(2, 1),
    "a part, mapped": lambda ds: ds.skip(100).take(9000).map(lambda x: x + 1, vectorized=False),
    "epochs": lambda ds: ds.take(3000).shuffle(seed=1).repeat(3),
    "mixed": lambda ds: ps.Dataset.sample_from_datasets([ds.take(2000), ds.skip(5000).take(2000)], [0.5, 0.5], seed=2),
    "filtered": lambda ds: ds.shuffle(seed=1).filter(lambda x: x % 3 == 0),
    "filtered batches": lambda ds: ds.filter(lambda x: x % 30 == 0).batch(4),
}

OF_ONE_SOURCE = [name for name in PIPELINES if name != "mixed"]


@pytest.mark.parametrize("name", PIPELINES)
def test_announced_rows_are_read_later(cold, name):
    source = Recorded()
    told, read, _ = told_and_read(PIPELINES[name], source)
    start = len(read) - len(told)
    assert 0 < start < len(read)
    if name == "mixed":  # a task asks one of its two sources after the other
        told, read = sorted(told), sorted(read[start:])
        start = 0
    assert told == read[start:]


@pytest.mark.parametrize("name", OF_ONE_SOURCE)
def test_rows_are_announced_before_they_are_read_within_the_limit_of_bytes(cold, name):
    source = Recorded()
    told_and_read(PIPELINES[name], source)
    size = 8 if "batches" in name and name != "filtered batches" else 1
    read, told = 0, len(source.rows("read")) - len(source.rows("told"))
    for (kind, rows), (_, following) in pairwise([*source.events, ("", [])]):
        if kind == "read":
            read += len(rows)
            assert read <= told
        else:
            told += len(rows)
            assert told - (read + len(following)) <= (AHEAD + 1) * size  # what follows is read by the task that tells
            assert len(rows) <= MOST_ROWS


@pytest.mark.parametrize("name", PIPELINES)
def test_elements_are_the_same_with_read_ahead(cold, name):
    source = Recorded()
    _, _, elements = told_and_read(PIPELINES[name], source)
    plain = list(PIPELINES[name](ps.Dataset.from_source(list(range(0, COUNT * 10, 10)))).with_options(INLINE))
    assert all(map(np.array_equal, elements, plain))
    assert len(elements) == len(plain)


@pytest.mark.parametrize("name", OF_ONE_SOURCE)
def test_with_threads_each_row_is_announced_once(cold, name):
    source = Recorded()
    told, read, _ = told_and_read(PIPELINES[name], source, ps.Options(executor="threads", workers=3))
    order = Recorded()
    told_and_read(PIPELINES[name], order)
    assert 0 < len(told) < len(read)
    assert sorted(told) == sorted(order.rows("read")[-len(told) :])


@pytest.mark.parametrize("name", ["batches", "filtered"])
def test_with_processes_each_row_is_announced_once(cold, name, tmp_path):
    source = Written(str(tmp_path / "told"), 6000)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        told, _, _ = told_and_read(PIPELINES[name], source, ps.Options(executor=pool))
    order = Recorded(6000)
    told_and_read(PIPELINES[name], order)
    assert told
    assert told == order.rows("read")[-len(told) :]


def test_a_shard_of_virtual_streams_announces_its_own_rows(cold):
    source = Recorded()
    told, read, _ = told_and_read(lambda ds: ds.filter(lambda x: x % 3 == 0).shard(2, 1, streams=4), source)
    assert set(told) < set(read) == {row for row in range(COUNT) if row % 2}
    assert len(set(told)) == len(told) > 0


def test_an_executor_of_threads_announces_rows(cold):
    with ThreadPoolExecutor(2) as pool:
        told, _, _ = told_and_read(PIPELINES["batches"], Recorded(), ps.Options(executor=pool))
    assert len(set(told)) == len(told) > 0


def test_rows_in_memory_are_not_announced():
    source = Recorded()
    told, read, _ = told_and_read(PIPELINES["batches"], source)
    assert (told, len(read)) == ([], COUNT)


def test_cached_rows_are_not_announced_again(cold):
    source = Recorded(1000)
    ds = ps.Dataset.from_source(source).cache().shuffle(seed=1).with_options(INLINE)
    list(ds)
    once = source.rows("told")
    assert len(once) == len(set(once)) > 0
    assert list(ds)
    assert source.rows("told") == once


def test_a_restored_iterator_announces_the_rows_that_it_reads(cold):
    source = Recorded()
    ds = ps.Dataset.from_source(source).shuffle(seed=3).batch(8).with_options(INLINE)
    with ds.iterator() as it:
        for _ in range(200):
            next(it)
        state = it.state_dict()
    source.events.clear()
    with ds.iterator() as it:
        it.load_state_dict(state)
        list(it)
    told, read = source.rows("told"), source.rows("read")
    assert told
    assert told == read[len(read) - len(told) :]


@settings(max_examples=draws(60))
@given(datasets(), st.integers(0, 40), st.integers(1, 30))
def test_each_source_receives_its_own_rows(ds, low, count):
    plan = bind_seeds(ds._plan, 5)

    def listening(node):
        return replace(node, source=Listening(node.source)) if isinstance(node, Read) else node

    tell = telling(rebuild(plan, listening)) if plan.indexed else None
    if tell is not None and plan.stride:
        tell((low + np.arange(count)) % plan.stride)


# The arithmetic


def rows_of(low, high):
    return np.arange(low, high), high


def test_no_row_is_announced_before_a_read_from_a_disk():
    read_ahead = ReadAhead()
    read_ahead.observe(WARM, 1)
    assert read_ahead.after(0, 1, 1000, rows_of) is None
    read_ahead.observe(COLD, 1)
    assert read_ahead.after(1, 2, 9000, rows_of).tolist() == list(range(2, 2 + FEW_ROWS))


@pytest.mark.parametrize("made", [1, 100, 3000])
def test_small_rows_are_announced_as_a_multiple_of_the_rows_of_a_task(made):
    """Tasks read 4 KB for each position; the rows read ahead have 8,192 positions."""
    read_ahead, told = ReadAhead(), 0
    for position in range(0, 50 * made, made):
        rows = read_ahead.after(max(position - made, 0), position, 1 << 20, rows_of)
        if position == 0:
            assert rows is None
        elif rows is not None:
            assert len(rows) <= max(FEW_ROWS, GAIN * made)
            told = int(rows[-1]) + 1
        assert told <= position + (AHEAD_BYTES >> 12)
        assert position < 2 * made or told >= position + min((position // made) * FEW_ROWS // 2, AHEAD_BYTES >> 12)
        read_ahead.observe(Cost(1000, 1000, reads=8 * made), made)


def test_small_rows_of_a_remote_store_are_announced_many_at_once():
    read_ahead, told = ReadAhead(size=8, fetched=100.0), []
    for position in range(0, 30_000, 10):
        if (rows := read_ahead.after(max(position - 10, 0), position, 30_000, rows_of)) is not None:
            told += [(position, int(rows[0]), len(rows))]
    stride = MOST_ROWS // 8
    assert [rows for _, _, rows in told[:-1]] == [stride] * (30_000 // stride)
    assert [first for _, first, _ in told] == list(range(0, 30_000, stride))
    assert all(first + rows <= position + STRIDES * stride for position, first, rows in told)
    large = ReadAhead(size=8, fetched=1e5)
    assert len(large.after(0, 0, 30_000, rows_of)) == FEW_ROWS // 8


def test_each_row_is_announced_once():
    read_ahead = ReadAhead()
    read_ahead.observe(COLD, 1)
    assert read_ahead.after(0, 1000, 2000, rows_of).tolist() == list(range(1000, 2000))
    positions = (1000, 1010, 1010, 1013, 1043, 1900, 4000)
    told = [read_ahead.after(begin, position, 4000, rows_of) for begin, position in pairwise(positions)]
    spans = [rows if rows is None else (rows[0], rows[-1]) for rows in told]
    assert spans == [(2000, 2255), (2256, 2511), (2512, 2767), (2768, 3023), (3024, 3947), None]


def test_announcements_end_some_tasks_after_the_last_read():
    read_ahead = ReadAhead()
    read_ahead.observe(COLD, 1)
    for _ in range(QUIET - 1):
        read_ahead.observe(WARM, 1)
    assert read_ahead.after(0, 0, 10, rows_of) is not None
    read_ahead.observe(WARM, 1)
    assert read_ahead.after(0, 10, 20, rows_of) is None
    read_ahead.observe(COLD, 1)
    assert read_ahead.after(10, 20, 30, rows_of) is not None


@pytest.mark.parametrize("task", [1, 7, 64])
def test_some_positions_of_each_block_are_announced_in_time(task):
    """Blocks of 1000 positions, 8 MB each, of 50 of which a task makes few: 4 blocks ahead are 32 MiB."""
    read_ahead = ReadAhead(spacing=lambda: 1000.0)
    told, late = set(), 0
    for position in range(0, 50_000, task):
        rows = read_ahead.after(max(position - task, 0), position, 50_000, rows_of)
        if rows is not None:
            assert len(rows) <= MOST_SAMPLES
            assert position <= rows[0]
            assert rows[-1] < position + 10_000
            told.update((rows // 1000).tolist())
        begins = set(range(position // 1000, (position + task - 1) // 1000 + 1))
        late += len(begins - told)
        reads = 8_000_000 // BLOCK if position % 1000 < task else 0
        read_ahead.observe(Cost(1, 1, reads=reads), task)
    assert late <= 2 * max(1000 // task, 1)  # the first
    assert told >= set(range(2, 50))


def test_announcements_of_blocks_end_some_blocks_after_the_last_read():
    read_ahead = ReadAhead(spacing=lambda: 100.0)
    read_ahead.observe(COLD, 10)
    for _ in range(10 * QUIET - 1):
        read_ahead.observe(WARM, 10)
    assert read_ahead.after(0, 0, 10_000, rows_of) is not None
    for _ in range(2):
        read_ahead.observe(WARM, 10)
    assert read_ahead.after(0, 5000, 10_000, rows_of) is None


def test_the_spacing_is_the_number_of_items_in_a_block(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("a\n" + "".join(f"{i:09}\n" for i in range(10_000)))
    ds = ps.read_csv(tmp_path / "a.csv", block_bytes=10_000)
    assert spacing(ds._plan, 10_000, 1) == 1000
    assert spacing(ds.shuffle(seed=1)._plan, 625, 16) == 62.5
    assert spacing(ds.shard(4, 1)._plan, 2500, 1) == 250
    assert spacing(ds.repeat()._plan, 1 << 48, 8) == 125
    assert spacing(ps.Dataset.zip(ds, ps.Dataset.range(10_000))._plan, 10_000, 1) == 1000
    assert spacing(ps.Dataset.from_source(Recorded())._plan, COUNT, 1) == 0
    assert spacing(ps.Dataset.range(5)._plan, 5, 1) == 0


@given(
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(1, 256)), min_size=1, max_size=30), st.integers(1, 1 << 40)
)
def test_the_rows_announced_by_one_task_are_bounded(costs, end):
    read_ahead = ReadAhead()
    position = 0
    for reads, items in costs:
        read_ahead.observe(Cost(1, 1, reads=reads), items)
        begin, position = position, min(position + items, end)
        rows = read_ahead.after(begin, position, end, rows_of)
        assert rows is None or (position <= rows[0] and len(rows) <= MOST_ROWS and rows[-1] < end)


def test_fewer_rows_than_requested_may_be_available():
    read_ahead = ReadAhead()
    read_ahead.observe(COLD, 1)
    assert read_ahead.after(0, 0, 50, lambda low, high: (np.arange(low, 3), 3)).tolist() == [0, 1, 2]
    assert read_ahead.after(0, 0, 50, rows_of)[0] == 3


def test_plans_without_listening_sources_have_no_announcements():
    numbers, listening = ps.Dataset.from_source([1, 2, 3]), ps.Dataset.from_source(Recorded())
    assert telling(numbers._plan) is None
    assert telling(ps.Dataset.zip(numbers, listening)._plan) is not None
    assert telling(ps.Dataset.from_generator(lambda: iter([1])).map(abs)._plan) is None


def test_damaged_data_is_reported_by_the_read_and_not_by_the_announcement(cold):
    class Damaged(Recorded):
        def advise(self, rows):
            super().advise(rows)
            raise ps.errors.DataError("a shard is damaged")

    source = Damaged()
    assert len(list(ps.Dataset.from_source(source).batch(8).with_options(INLINE))) == COUNT // 8
    assert source.rows("told")


def test_rows_of_remote_stores_are_always_announced():
    ahead, told = ReadAhead(size=2, fetched=FETCHED_AHEAD / 200), []

    def rows_of(low, high):
        told.append((low, high))
        return np.arange(low, high), high

    for position in range(10, 400, 10):
        ahead.after(position - 10, position, 350, rows_of)
        ahead.observe(WARM, 10)
    assert told[0] == (0, 110)  # its own, and as many positions as have the bytes
    assert [high for _, high in told] == sorted({high for _, high in told})
    assert [low for low, _ in told[1:]] == [high for _, high in told[:-1]]  # each once, without a gap
    assert told[-1][1] == 350
