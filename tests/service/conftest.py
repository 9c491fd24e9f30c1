"""A runtime folder for each test, so that services of tests meet no others."""

import gc

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path_factory, monkeypatch):
    place = tmp_path_factory.mktemp("run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place))
    yield place
    gc.collect()
