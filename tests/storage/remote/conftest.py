"""A store of objects for each test, and a cache folder of its own."""

from __future__ import annotations

import pytest

from penstock.storage.remote.fetcher import _fetcher
from tests.storage.remote.object_server import Running


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """The folder of caches, empty at first."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "penstock"


@pytest.fixture
def folder(tmp_path):
    """The folder of the bucket `data`."""
    made = tmp_path / "store" / "data"
    made.mkdir(parents=True)
    return made


@pytest.fixture
def server(folder):
    """A server of that bucket."""
    pytest.importorskip("obstore")
    with Running(str(folder.parent)) as running:
        yield running
    _fetcher.cache_clear()  # what was requested ahead of an ended server keeps no thread that the next test needs


@pytest.fixture
def options(server):
    """The `storage_options=` of the server, without a local cache."""
    return {
        "key": "AKIDTEST", "secret": "s3cr3t-value", "endpoint_url": f"http://127.0.0.1:{server.port}",
        "region": "us-east-1", "cache_bytes": 0, "retry_seconds": 20,
    }  # fmt: skip
