"""The arguments of `cache(path)`."""

import sys

import pytest

from penstock.core.errors import MissingDependencyError, PlanError
from tests.ops.buffer.kept import Dataset


def test_mistakes_are_told_when_the_pipeline_is_built(tmp_path):
    ds = Dataset.range(3)
    with pytest.raises(PlanError, match=r"a dataset without end"):
        ds.repeat().cache(tmp_path)
    with pytest.raises(PlanError, match=r"cache\(version='1'\): this is a setting of the elements of a folder"):
        ds.cache(version="1")
    with pytest.raises(PlanError, match="not a URL"):
        ds.cache("s3://bucket/kept")
    with pytest.raises(TypeError, match=r"cache\(path=3\): expected a path"):
        ds.cache(3)
    with pytest.raises(ValueError, match=r"cache\(compression='gzip'\): expected"):
        ds.cache(tmp_path, compression="gzip")
    with pytest.raises(TypeError, match=r"cache\(version=1.5\)"):
        ds.cache(tmp_path, version=1.5)
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="it is a file"):
        list(ds.cache(tmp_path / "file"))


def test_an_empty_path_is_not_the_working_folder():
    with pytest.raises(ValueError, match="expected the path of a folder"):
        Dataset.range(2).cache("")


@pytest.mark.parametrize(("compression", "module"), [("lz4", "lz4.block"), ("zstd", "zstandard")])
@pytest.mark.parametrize("spills", [False, True])
def test_a_missing_library_is_told_when_the_pipeline_is_built(tmp_path, monkeypatch, compression, module, spills):
    monkeypatch.setitem(sys.modules, module, None)
    place = {"spill": True} if spills else {"path": tmp_path / "kept"}
    with pytest.raises(MissingDependencyError, match=rf'cache\(compression="{compression}"\) needs .*\[compression\]'):
        Dataset.range(3).cache(**place, compression=compression)
    assert not (tmp_path / "kept").exists()


def test_a_relative_path_in_a_working_directory_that_was_deleted_says_so(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(FileNotFoundError, match=r"cache\('kept'\): .*the working directory was deleted; pass an absol"):
        Dataset.range(3).cache("kept")
