"""Zarr: groups and arrays, any rows of them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.dataset.readers.arrays import read_zarr
from penstock.testing.sources import verify_source

zarr = pytest.importorskip("zarr", minversion="3")
COUNT = 250


@pytest.fixture
def path(tmp_path):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("x", data=np.arange(COUNT * 2.0).reshape(COUNT, 2), chunks=(16, 2))
    group.create_array("sharded", data=np.arange(COUNT), chunks=(8,), shards=(64,))
    group.create_array("deep/flag", data=np.arange(COUNT) % 2 == 0)
    return tmp_path / "a.zarr"


def source_of(ds):
    return ds._plan.source


def test_groups_pass_the_conformance_checks(path):
    source = source_of(read_zarr(path))
    verify_source(source)
    element = source.read_many(np.array([7])).elements()[0]
    assert element["x"].tolist() == [14, 15]
    assert (element["sharded"], element["deep"]) == (7, {"flag": False})


@pytest.mark.filterwarnings("ignore")  # the package warns that text is not in the format's specification yet
def test_text_is_read_as_str(tmp_path):
    group = zarr.open_group(tmp_path / "a.zarr", mode="w")
    group.create_array("name", data=np.array(["a", "bé", ""], np.dtypes.StringDType()))
    assert list(read_zarr(tmp_path / "a.zarr", columns="name")) == ["a", "bé", ""]


def test_a_store_of_one_array_gives_rows_and_stores_are_joined(tmp_path):
    for i in range(2):
        zarr.save_array(tmp_path / f"{i}.zarr", np.arange(10) + 10 * i)
    for columns in (None, ""):
        assert list(read_zarr(tmp_path / "*.zarr", columns=columns)) == list(range(20))


def test_paths_without_a_store_are_refused_by_name(tmp_path, path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        read_zarr(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="nothing matches"):
        read_zarr(str(tmp_path / "nothing*"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty cannot be read as Zarr"):
        read_zarr(tmp_path / "empty")
    (chunk,) = (path / "x" / "c" / "3").glob("*")
    chunk.write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"a\.zarr, x, rows"):
        list(read_zarr(path, columns="x"))
