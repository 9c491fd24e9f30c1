"""Datasets that others would go through several times; what PyTorch itself does is in tests/feed."""

from __future__ import annotations

import sys
import warnings
from types import SimpleNamespace

import pytest

import penstock as ps
from penstock.core.surroundings import FETCHER

D = ps.Dataset


@pytest.fixture
def two_workers(monkeypatch):
    info = SimpleNamespace(id=0, num_workers=2)
    monkeypatch.setitem(sys.modules, "torch.utils.data", SimpleNamespace(get_worker_info=lambda: info))


@pytest.fixture
def two_ranks(monkeypatch):
    ranks = SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, get_world_size=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch.distributed", ranks)


def warned(statement):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        statement()
    return [warning.message.code for warning in caught]


@pytest.mark.usefixtures("two_workers")
def test_every_worker_has_all_of_it_unless_it_is_cut_for_them():
    ds = D.range(8)
    assert warned(lambda: list(ds)) == ["PS501"]
    assert warned(lambda: list(ds)) == []
    assert warned(lambda: list(D.range(8).shard(2, 0))) == []
    assert warned(lambda: list(D.range(8)[0::2])) == []
    assert warned(lambda: list(D.range(9).shard(3, 0))) == ["PS501"]
    assert warned(lambda: list(D.range(8).with_options(ps.Options(ignore="PS501")))) == []


@pytest.mark.usefixtures("two_ranks")
def test_every_rank_has_all_of_it_unless_it_is_sharded():
    with pytest.warns(ps.PlanWarning, match=r"PS503: .* 2 ranks.*\.shard\(2, torch\.distributed\.get_rank\(\)\)"):
        list(D.range(8).shuffle(seed=1).batch(2))
    assert warned(lambda: list(D.range(8).shard(2, 0).batch(2))) == []
    stream = D.range(8).filter(lambda x: x > 2)
    assert warned(lambda: list(stream.shard(2, 0, streams=4))) == []
    assert [finding.code for finding in stream.check().findings] == ["PS503"]


def test_what_was_iterated_before_is_looked_at_again_in_a_worker(request):
    ds = D.range(8)
    assert warned(lambda: list(ds)) == []
    request.getfixturevalue("two_workers")
    assert warned(lambda: list(ds)) == ["PS501"]


def test_rows_that_a_dataloader_asks_for():
    ds = D.range(8)
    names = {"__name__": FETCHER, "ds": ds}
    assert warned(lambda: exec("rows = [ds[i] for i in range(3)]", names)) == ["PS502"]
    assert names["rows"] == [0, 1, 2]
    assert warned(lambda: [ds[i] for i in range(3)]) == []
