"""Datasets that others would go through several times; what PyTorch itself does is in tests/feed."""

from __future__ import annotations

import sqlite3
import struct
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pytest

import penstock as ps
from penstock.core.surroundings import FETCHER
from penstock.dataset.ranks.stores import ThreadStore

D = ps.Dataset


@pytest.fixture
def two_workers(monkeypatch):
    info = SimpleNamespace(id=0, num_workers=2)
    monkeypatch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(get_worker_info=lambda: info))


@pytest.fixture
def one_worker(monkeypatch):
    info = SimpleNamespace(id=0, num_workers=1)
    monkeypatch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(get_worker_info=lambda: info))


def join(monkeypatch, rank, world):
    """Make this process a rank of `torch.distributed`."""
    ranks = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_world_size=lambda: world,
        get_rank=lambda: rank,
    )
    monkeypatch.setitem(sys.modules, "torch.distributed", ranks)


@pytest.fixture
def two_ranks(monkeypatch):
    join(monkeypatch, 0, 2)


def warned(statement):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        statement()
    return [warning.message.code for warning in caught]


@pytest.mark.usefixtures("two_workers")
def test_workers_that_each_iterate_the_whole_dataset_are_found():
    ds = D.range(8)
    assert warned(lambda: list(ds)) == ["PS501"]
    assert warned(lambda: list(ds)) == []
    assert warned(lambda: list(D.range(8).shard(2, 0))) == []
    assert warned(lambda: list(D.range(8)[0::2])) == []
    assert warned(lambda: list(D.range(9).shard(3, 0))) == ["PS501"]
    assert warned(lambda: list(D.range(8).with_options(ps.Options(ignore_lint="PS501")))) == []


@pytest.mark.usefixtures("two_workers")
def test_ranks_divide_nothing_among_workers():
    for rank in range(2):
        assert warned(lambda: list(D.range(8).batch(4).shard_by_rank(rank=rank, world=2))) == ["PS501"]  # noqa: B023
    assert warned(lambda: list(D.range(8).shard(2, 0).batch(4).shard_by_rank(rank=0, world=2))) == []


@pytest.mark.usefixtures("two_workers", "two_ranks")
def test_shards_by_hand_are_those_of_ranks_first():
    assert warned(lambda: list(D.range(8).shard(2, 0))) == ["PS501"]
    assert warned(lambda: list(D.range(8).shard(4, 0))) == []


@pytest.mark.usefixtures("one_worker")
def test_a_single_worker_warns_that_every_pass_is_the_first():
    ds = D.range(8).shuffle(seed=0)
    with pytest.warns(ps.PlanWarning, match=r"PS501: .* in the worker of a DataLoader: each pass begins with a copy"):
        list(ds)
    assert warned(lambda: list(ds)) == []
    assert warned(lambda: list(D.range(8).shard(2, 0))) == ["PS501"]


@pytest.mark.usefixtures("two_ranks")
def test_ranks_that_each_iterate_the_whole_dataset_are_found():
    with pytest.warns(ps.PlanWarning, match=r"PS503: .* 2 ranks.*\.shard_by_rank\(\) after the batch"):
        list(D.range(8).shuffle(seed=1).batch(2))
    assert warned(lambda: list(D.range(8).shard(2, 0).batch(2))) == []
    assert warned(lambda: list(D.range(8).batch(4).shard_by_rank(rank=0, world=2))) == []
    stream = D.range(8).filter(lambda x: x > 2)
    assert warned(lambda: list(stream.shard(2, 0, streams=4))) == []
    assert [finding.code for finding in stream.check().findings] == ["PS503"]


@pytest.mark.usefixtures("two_ranks")
def test_a_dataset_divided_before_the_ranks_were_initialised():
    with pytest.warns(ps.PlanWarning, match="PS503: .* a single rank: call it after the ranks have been initialized"):
        list(D.range(8).batch(4).shard_by_rank(rank=0, world=1))


@pytest.mark.parametrize(("rank", "world"), [(0, 4), (3, 4), (0, 3), (2, 3), (1, 8)])
def test_a_rank_unlike_that_of_the_process_group_is_found(monkeypatch, rank, world):
    ds = D.range(48).batch(24).shard_by_rank(rank=rank, world=world)
    join(monkeypatch, 1, 4)
    told = rf"PS506: .* for rank {rank} of {world}, and torch.distributed says that this is rank 1 of 4"
    with pytest.warns(ps.PlanWarning, match=told):
        list(ds)
    assert warned(lambda: list(ds)) == []


@pytest.mark.parametrize(("rank", "world"), [(1, 4), (0, 2), (1, 2)])
def test_ranks_may_be_those_of_the_group_or_shared_by_several_processes(monkeypatch, rank, world):
    join(monkeypatch, 1, 4)
    assert warned(lambda: list(D.range(48).batch(24).shard_by_rank(rank=rank, world=world))) == []


def test_a_rank_unlike_that_of_jax_is_found(monkeypatch):
    state = SimpleNamespace(client=object(), process_id=1, num_processes=2)
    monkeypatch.setitem(sys.modules, "jax._src.distributed", SimpleNamespace(global_state=state))
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    with pytest.warns(ps.PlanWarning, match=r"PS506: .* rank 0 of 2, and jax.distributed says .* rank 1 of 2"):
        list(D.range(8).batch(4).shard_by_rank(rank=0, world=2))
    assert warned(lambda: list(D.range(8).batch(4).shard_by_rank(rank=1, world=2))) == []


def test_the_ranks_of_another_group_are_not_compared(monkeypatch):
    join(monkeypatch, 1, 4)
    store = ThreadStore()
    ranks = [D.range(48).batch(24).shard_by_rank(rank=rank, world=3, group=store) for rank in range(3)]

    def all_ranks():
        with ThreadPoolExecutor(3) as pool:
            assert [len(each) for each in pool.map(list, ranks)] == [2, 2, 2]

    assert warned(all_ranks) == []


def test_a_dataset_iterated_before_is_checked_again_in_a_worker(request):
    ds = D.range(8)
    assert warned(lambda: list(ds)) == []
    request.getfixturevalue("two_workers")
    assert warned(lambda: list(ds)) == ["PS501"]


def test_rows_requested_by_a_dataloader_are_found():
    ds = D.range(8)
    names = {"__name__": FETCHER, "ds": ds}
    assert warned(lambda: exec("rows = [ds[i] for i in range(3)]", names)) == ["PS502"]
    assert names["rows"] == [0, 1, 2]
    assert warned(lambda: [ds[i] for i in range(3)]) == []


class Scratch:
    """Works on what it keeps."""

    def __call__(self, x):
        self.x = x
        return self.x


FOUR = ps.Options(executor="threads", workers=4)


@pytest.fixture
def numbers(tmp_path):
    np.arange(100).tofile(tmp_path / "numbers")
    with open(tmp_path / "numbers", "rb") as file:
        yield file


def test_a_function_that_one_thread_at_a_time_calls_is_reported_once():
    function = Scratch()
    ds = D.range(100).map(function).batch(10).with_options(FOUR)
    told = (
        r"PS505: map\(Scratch\) is called by one thread at a time: writes `self\.x`; so the threads take turns, with "
        r"rows in any order; keep state from row to row by scan\(\), .* thread_safe=True"
    )
    with pytest.warns(ps.PlanWarning, match=told) as caught:
        batches = list(ds)
    assert [warning.filename for warning in caught] == [__file__]
    assert np.concatenate(batches).tolist() == list(range(100))
    assert warned(lambda: list(ds)) == []
    assert warned(lambda: list(D.range(100).map(function).with_options(FOUR))) == []
    assert warned(lambda: list(D.range(100).map(Scratch()).with_options(FOUR))) == ["PS505"]


def test_an_object_with_one_open_file_is_reported_in_streams(numbers):
    class Numbers:
        def __len__(self):
            return 100

        def __getitem__(self, i):
            numbers.seek(8 * int(i))
            return np.frombuffer(numbers.read(8), np.int64)[0]

    with pytest.warns(ps.PlanWarning, match=r"from_source\(Numbers\) is called .*: an open file, `numbers`"):
        assert list(D.from_source(Numbers()).with_options(FOUR)) == list(range(100))
    function = Scratch()
    with pytest.warns(ps.PlanWarning, match=r"filter\(lambda\) is called by one thread at a time"):
        assert list(D.range(100).filter(lambda x: function(x) < 3).with_options(FOUR)) == [0, 1, 2]


def test_a_connection_to_sqlite_keeps_the_pipeline_in_one_thread():
    connection = sqlite3.connect(":memory:")

    def twice(x):
        return connection.execute("select 2 * ?", (int(x),)).fetchone()[0]

    with pytest.warns(ps.PlanWarning, match=r"no thread but the consumer's: .*; so the whole pipeline runs in that"):
        assert list(D.range(9).map(twice).with_options(FOUR)) == list(range(0, 18, 2))
    assert warned(lambda: list(D.range(9).map(lambda x: twice(x)).with_options(ps.Options(executor="inline")))) == []
    connection.close()


def test_single_threads_and_declared_functions_are_not_reported():
    silent = (
        D.range(100).map(Scratch()),
        D.range(100).map(Scratch()).with_options(ps.Options(executor="inline")),
        D.range(100).map(Scratch()).with_options(ps.Options(workers=1)),
        D.range(100).map(Scratch(), thread_safe=True).with_options(FOUR),
        D.range(100).map(Scratch(), thread_safe=False).with_options(FOUR),
        D.range(100).map(Scratch()).with_options(FOUR).with_options(ps.Options(ignore_lint="PS505")),
        D.range(100).map(lambda x: x + 1).with_options(FOUR),
    )
    for ds in silent:
        assert warned(lambda: list(ds)) == []  # noqa: B023
        assert ds.check().findings == ()


def test_a_warning_that_is_an_error_loses_no_element():
    ds = D.range(100).map(Scratch()).with_options(FOUR)
    it, got = iter(ds), []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ps.PlanWarning, match="PS505"):
            got.extend(it)
    assert len(got) < 10
    assert got + list(it) == list(range(100))


@pytest.mark.parametrize("count", [64, 128])
def test_a_pass_of_one_or_two_batches_is_reported_at_its_end(count):
    assert warned(lambda: list(D.range(count).map(Scratch()).batch(64).with_options(FOUR))) == ["PS505"]


def test_a_function_that_only_its_first_calls_give_away_is_reported():
    packed = bytearray(8)

    def packs(x):
        struct.pack_into("q", packed, 0, x)
        return struct.unpack_from("q", packed)[0]

    assert warned(lambda: list(D.range(100).map(packs).with_options(FOUR))) == ["PS505"]


def test_a_loop_that_counts_its_steps_by_the_length_leaves_no_pass_early():
    ds = D.range(20).shuffle(seed=0).batch(4)
    for _ in range(3):
        it = iter(ds)
        for _ in range(len(ds)):
            next(it)
    assert ds.check().findings == ()
    next(iter(ds))
    assert [finding.code for finding in D.range(20).shuffle(seed=0).check().findings] == []
    again = D.range(20).shuffle(seed=0).batch(4)
    it = iter(again)
    for _ in range(len(again) - 1):
        next(it)
    assert [finding.code for finding in again.check().findings] == ["PS504"]


def test_an_epoch_without_a_batch_is_reported():
    for ds in (D.range(10).batch(16, drop_remainder=True), D.range(99).filter(lambda x: x < 9).batch(16, True)):
        with pytest.warns(ps.PlanWarning, match=r"PS203: batch\(16, drop_remainder=True\) of .* no batch") as caught:
            assert list(ds) == []
        assert [warning.filename for warning in caught] == [__file__]
        assert warned(lambda: list(ds)) == []  # noqa: B023
    assert warned(lambda: list(D.range(99).filter(lambda x: x > 99).batch(16))) == []
    assert warned(lambda: list(D.range(20).batch(16, drop_remainder=True))) == []
    silenced = D.range(10).batch(16, drop_remainder=True).with_options(ps.Options(ignore_lint="PS203"))
    assert warned(lambda: list(silenced)) == []


def test_an_epoch_in_which_every_element_failed_is_reported():
    def fails(x):
        raise LookupError(x)

    for ds in (D.range(5).map(fails).ignore_errors(), D.range(5).map(fails, on_error="skip").batch(2)):
        with pytest.warns(ps.PlanWarning, match=r"PS404: .* left out every element of the epoch") as caught:
            assert list(ds) == []
        assert [warning.filename for warning in caught] == [__file__]
        assert warned(lambda: list(ds)) == []  # noqa: B023
    assert warned(lambda: list(D.range(5).filter(lambda x: x > 9).ignore_errors())) == []
    assert warned(lambda: list(D.range(5).map(lambda x: 6 // (x - 1)).ignore_errors())) == []
