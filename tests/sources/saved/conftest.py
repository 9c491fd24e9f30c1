"""A store in memory for tests of saved datasets at URLs."""

from __future__ import annotations

import pytest


@pytest.fixture
def store(tmp_path, monkeypatch):
    """The store of fsspec in memory, empty at first."""
    import fsspec

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = fsspec.filesystem("memory")
    made.rm("/saved", recursive=True) if made.exists("/saved") else None
    return made
