"""Folders of other libraries, as datasets."""

from __future__ import annotations

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest

import penstock as ps
from tests.sources.shard_files import simple_litdata, simple_mds


@pytest.mark.parametrize(("make", "read"), [(simple_mds, ps.read_mds), (simple_litdata, ps.read_litdata)])
def test_a_pickled_dataset_reads_the_same_samples(make, read, tmp_path):
    def numbers(ds):
        return [element["n"] for element in ds]

    ds = read(make(tmp_path)).shuffle(seed=1)
    expected = numbers(read(tmp_path).shuffle(seed=1))
    assert sorted(expected) == list(range(20))
    assert numbers(pickle.loads(pickle.dumps(ds))) == expected
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert numbers(ds.with_options(ps.Options(executor=pool))) == expected


def test_flags_must_be_bool(tmp_path):
    for read in (ps.read_mds, ps.read_litdata):
        with pytest.raises(TypeError, match="decode"):
            read(tmp_path, decode="no")


def test_the_home_folder_is_expanded(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    simple_mds(tmp_path / "data")
    assert len(ps.read_mds("~/data")) == 20


@pytest.mark.parametrize(("make", "read"), [(simple_mds, ps.read_mds), (simple_litdata, ps.read_litdata)])
def test_several_folders_are_read_in_order(make, read, tmp_path):
    folders = [make(tmp_path / name) for name in ("a", "b")]
    one = [element["n"] for element in read(folders[0])]
    for paths in (folders, str(tmp_path / "*"), [str(tmp_path / "a"), tmp_path / "b*"]):
        ds = read(paths)
        assert [element["n"] for element in ds] == one + one
        assert ds[len(one) + 3]["n"] == one[3]
    ps.testing.verify_resume(read(folders).shuffle(seed=1), most=8)
    with pytest.raises(FileNotFoundError, match="nothing matches"):
        read(str(tmp_path / "c*"))
    with pytest.raises(ps.errors.PlanError, match=r"\(paths=\[\]\)"):
        read([])


@pytest.mark.parametrize(("make", "read"), [(simple_mds, ps.read_mds), (simple_litdata, ps.read_litdata)])
def test_columns_selects_entries(make, read, tmp_path):
    folder = make(tmp_path)
    assert list(read(folder, columns=["n"]))[3] == {"n": read(folder)[3]["n"]}
    with pytest.raises(ps.errors.PlanError, match=r"columns=\['q'\]\): there are"):
        read(folder, columns=["q"])
    with pytest.raises(TypeError, match="expected a list of names"):
        read(folder, columns="n")
