"""Folders of other libraries, as datasets."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import penstock as ps
from tests.sources.shard_files import simple_litdata, simple_mds


@pytest.mark.parametrize(("make", "read"), [(simple_mds, ps.read_mds), (simple_litdata, ps.read_litdata)])
def test_a_dataset_travels(make, read, tmp_path):
    def numbers(ds):
        return [element["n"] for element in ds]

    ds = read(make(tmp_path)).shuffle(seed=1)
    expected = numbers(read(tmp_path).shuffle(seed=1))
    assert sorted(expected) == list(range(20))
    assert numbers(pickle.loads(pickle.dumps(ds))) == expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert numbers(ds.with_options(ps.Options(executor=pool))) == expected


def test_flags_are_flags(tmp_path):
    for read in (ps.read_mds, ps.read_litdata):
        with pytest.raises(TypeError, match="decode"):
            read(tmp_path, decode="no")


def test_a_home_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    simple_mds(tmp_path / "data")
    assert len(ps.read_mds("~/data")) == 20
