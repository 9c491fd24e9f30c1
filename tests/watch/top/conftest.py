"""A folder of its own for the sockets of each test."""

from __future__ import annotations

import shutil
import tempfile
from types import SimpleNamespace

import pytest

from penstock.watch import stuck
from penstock.watch.top.published import publisher


@pytest.fixture
def folder(monkeypatch):
    made = tempfile.mkdtemp(prefix="top")  # the path of a socket must be short
    monkeypatch.setenv("PENSTOCK_TOP", made)
    monkeypatch.setattr(stuck, "publisher", SimpleNamespace(serve=lambda: None))  # the watchdog comes at any moment
    yield made
    if publisher.server is not None:
        publisher.server.close()
        publisher.server = None
    shutil.rmtree(made)


@pytest.fixture
def serving(folder):
    """Begin the server of this process."""

    def begin():
        publisher.serve()
        assert publisher.server.ready.wait(60)
        return publisher.server

    return begin
