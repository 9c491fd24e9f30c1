from __future__ import annotations

import pickle

import pytest

import penstock as ps
from penstock.core.errors import DataError
from penstock.storage.remote.folder import RemoteFolder
from tests.sources.shard_files import simple_mds


def test_a_folder_knows_its_objects_by_name(folder, options):
    (folder / "a" / "b").mkdir(parents=True)
    for name in ("one", "b/two", "b/.three"):
        (folder / "a" / name).write_bytes(b"x")
    found = RemoteFolder.of_prefix("s3://data/a/", options)
    assert found == "s3://data/a"
    assert list(found.objects) == ["b/two", "one"]
    assert list(RemoteFolder.of_prefix("s3://data/a", options, hidden=True).objects) == ["b/.three", "b/two", "one"]
    assert pickle.loads(pickle.dumps(found)).objects == found.objects
    with pytest.raises(FileNotFoundError, match="no object below 's3://data/c'"):
        RemoteFolder.of_prefix("s3://data/c", options)


def test_a_folder_without_index_or_with_a_missing_shard_is_named(folder, options):
    simple_mds(folder / "mds")
    (folder / "mds" / "shard.00001.mds").unlink()
    with pytest.raises(DataError, match=r"s3://data/mds/index.json, shards.*'shard.00001.mds', and there is no such"):
        ps.read_mds("s3://data/mds", storage_options=options)
    (folder / "mds" / "index.json").rename(folder / "mds" / "other.json")
    with pytest.raises(FileNotFoundError, match=r"no object .s3://data/mds/index.json") as caught:
        ps.read_mds("s3://data/mds", storage_options=options)
    assert "expected a folder that a dataset was written to" in caught.value.__notes__[0]
