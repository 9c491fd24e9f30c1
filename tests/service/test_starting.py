"""The start of a service."""

import socket
import sys

import pytest

import penstock as ps
from penstock.core.errors import WorkerError
from penstock.service.folder import service_door
from penstock.service.starting import last_words

D = ps.Dataset


def test_what_a_killed_service_has_left_is_replaced():
    with service_door("x") as door, socket.socket(socket.AF_UNIX) as dead:
        dead.bind(door.address)
        dead.listen()
    assert list(D.range(3).share("x")) == [0, 1, 2]


def test_a_service_that_ends_before_it_serves_is_an_error_with_what_it_wrote(tmp_path, monkeypatch, folder):
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such interpreter >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(broken))
    ds = D.range(3).share("x")
    with pytest.raises(WorkerError, match=r"3 processes in a row have ended before they could serve:\nno such interpr"):
        list(ds)
    assert last_words("x") == "it wrote nothing"  # the log is removed
    assert [*folder.rglob("*.*")] == []
