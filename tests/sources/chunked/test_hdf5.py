"""HDF5: chunked, compressed, contiguous and uneven arrays, any rows of them."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.core.errors import DataError
from penstock.dataset.readers.arrays import read_hdf5
from penstock.testing.laws import verify_determinism
from penstock.testing.sources import verify_source

h5py = pytest.importorskip("h5py")
COUNT = 250


@pytest.fixture
def path(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset(
            "chunked", data=np.arange(COUNT * 2.0).reshape(COUNT, 2), chunks=(16, 2), compression="gzip"
        )
        file["plain"] = np.arange(COUNT, dtype=np.int16)
        file["big"] = np.arange(COUNT, dtype=">i4")
        file["deep/er/flag"] = np.arange(COUNT) % 2 == 0
        file["text"] = [f"t{i}é" for i in range(COUNT)]
        file["raw"] = np.array([b"%d" % i for i in range(COUNT)], "S5")
        uneven = file.create_dataset("uneven", (COUNT,), h5py.vlen_dtype(np.int32))
        uneven[:] = np.array([np.arange(i % 4, dtype=np.int32) for i in range(COUNT)], object)
        file["scalar"] = 3.5
        file["itself"] = np.array([file.ref] * COUNT, h5py.ref_dtype)
    return tmp_path / "a.h5"


def source_of(ds):
    return ds._plan.source


def test_the_files_pass_the_conformance_checks(path):
    source = source_of(read_hdf5(path))
    verify_source(source)
    element = source.read_many(np.array([7])).elements()[0]
    assert set(element) == {"chunked", "plain", "big", "deep", "text", "raw", "uneven"}
    assert element["chunked"].tolist() == [14, 15]
    assert (element["plain"], element["big"], element["deep"]["er"]["flag"]) == (7, 7, False)
    assert (element["text"], element["raw"], element["uneven"].tolist()) == ("t7é", b"7", [0, 1, 2])


def test_keys_choose_and_files_are_joined(path, tmp_path):
    with h5py.File(tmp_path / "b.h5", "w") as file:
        file["plain"] = np.arange(5, dtype=np.int16)
    ds = read_hdf5([path, tmp_path / "b.h5"], columns="plain")
    assert list(ds) == [*range(COUNT), *range(5)]
    assert "b.h5, row 3" in str(ds.locate(COUNT + 3))
    verify_determinism(read_hdf5(path, columns=["plain", "text"], cache_bytes=1).shuffle(seed=1).batch(16))


def test_a_shuffle_uses_chunks_that_exceed_the_cache(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.zeros((400, 1 << 14)), chunks=(10, 1 << 14))
    ds = read_hdf5(tmp_path / "a.h5", columns="x", cache_bytes=16 << 20)
    assert "40 blocks of about 10 rows in random order, and the rows of 6 at a time" in ds.shuffle(seed=1).explain()


def test_files_that_are_not_hdf5_are_refused_by_name(tmp_path, path):
    content = path.read_bytes()
    for broken in (b"", b"text", content[:100], content[:-2000]):
        (tmp_path / "b.h5").write_bytes(broken)
        with pytest.raises(DataError, match=r"b\.h5"):
            list(read_hdf5(tmp_path / "b.h5"))


def test_a_name_that_is_not_utf8_is_refused_with_the_file(path):
    with h5py.File(path, "a") as file:
        file[b"caf\xe9"] = np.arange(COUNT)
    with pytest.raises(DataError, match=r"a\.h5.*not UTF-8"):
        read_hdf5(path)
